#include "core/train/strategies/towers.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/colocation.h"
#include "core/train/strategies/batch_share.h"

namespace emplace {
namespace {

constexpr char kHost[] = "/device:CPU:0";

/// Everything that tensors depend on, they themselves included; ascending.
std::vector<NodeId> ancestors(const Graph& g, const std::vector<Endpoint>& of) {
  std::vector<bool> seen(g.num_nodes());
  std::vector<NodeId> open, out;
  for (const Endpoint& e : of) {
    if (!seen[e.node]) seen[e.node] = true, open.push_back(e.node);
  }
  while (!open.empty()) {
    NodeId node = open.back();
    open.pop_back();
    out.push_back(node);
    auto visit = [&](std::span<const Endpoint> edges) {
      for (const Endpoint& e : edges) {
        if (!seen[e.node]) seen[e.node] = true, open.push_back(e.node);
      }
    };
    visit(g.inputs(node));
    visit(g.controls(node));
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_placeholder(const OpTraits& op) { return op.placeholder || op.placeholder_with_default; }

/// Does nothing but hand on a variable's value?
bool reads_variable(const Graph& g, NodeId node) {
  return (g.traits(node).identity || g.traits(node).reads_variable) && g.traits(g.inputs(node)[0].node).variable;
}

/// Must it be where a variable is? Its handle cannot be read elsewhere.
bool takes_handle(const Graph& g, NodeId node) {
  auto inputs = g.inputs(node);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Endpoint& e) { return g.output_type(e) == DType::kResource; });
}

/// Lets a copy be where the copies of the variables are that the original was colocated with. False: it is bound to a
/// node that has no copy.
bool follow_colocation(GraphEditor& edit, NodeId copy, NodeId first_copy, const Replacements& instead) {
  const Graph& g = edit.graph();
  const AttrValue* written = g.attrs(copy).find("_class");
  if (written == nullptr || written->get_if<std::vector<std::string>>() == nullptr) return true;
  std::vector<std::string> groups = *written->get_if<std::vector<std::string>>();
  bool free = true;
  for (std::string& group : groups) {
    if (!std::string_view(group).starts_with(kColocationPrefix)) continue;
    const NodeId with = g.find(std::string_view(group).substr(kColocationPrefix.size()));
    if (with == kNoNode || with >= first_copy) continue;
    auto found =
        std::find_if(instead.begin(), instead.end(), [&](const auto& pair) { return pair.first.node == with; });
    if (found == instead.end())
      free = false;
    else
      group = cat(kColocationPrefix, g.name(found->second.node));
  }
  edit.set_attr(copy, "_class", AttrValue::list_of(AttrKind::kString, std::move(groups)));
  return free;
}

bool has_open_batch(const Graph& g, NodeId placeholder) {
  const Shape& shape = g.output_shape({placeholder, 0});
  return !shape.rank_known() || (shape.rank() > 0 && shape.dim(0) < 0);
}

Endpoint to_float(GraphEditor& edit, std::string name, Endpoint value) {
  return edit.add_output({.name = std::move(name),
                          .op = "Cast",
                          .inputs = {value},
                          .attrs = {{"DstT", AttrValue::of(DType::kFloat)}},
                          .device = kHost});
}

Endpoint as_type(GraphEditor& edit, Endpoint value, DType type, const std::string& scope, const std::string& device) {
  if (edit.type(value) == type) return value;
  return edit.add_output({.name = cat(scope, "Cast"),
                          .op = "Cast",
                          .inputs = {value},
                          .attrs = {{"DstT", AttrValue::of(type)}},
                          .device = device});
}

Endpoint integers(GraphEditor& edit, std::string name, const std::vector<int32_t>& values) {
  return edit.constant(std::move(name), Tensor::of<int32_t>({static_cast<int64_t>(values.size())}, values), {}, kHost);
}

/// The first dimension of a tensor, as a scalar.
Endpoint first_dimension(GraphEditor& edit, Endpoint tensor) {
  Endpoint shape = add_op(edit, "batch/Shape", "Shape", {tensor}, kHost);
  NewNode slice{.name = "batch/strided_slice", .op = "StridedSlice", .device = kHost};
  slice.inputs = {shape, integers(edit, "batch/strided_slice/stack", {0}),
                  integers(edit, "batch/strided_slice/stack_1", {1}),
                  integers(edit, "batch/strided_slice/stack_2", {1})};
  slice.attrs = {{"shrink_axis_mask", AttrValue::of(int64_t{1})}};
  return edit.add_output(std::move(slice));
}

/// Where each part begins and ends in the batch, each a vector of one number: the outputs of two nodes.
struct Bounds {
  NodeId begins, ends;
  Endpoint ones;
};

/// A replica without rows gets the batch's last one, which counts nothing: means and normalisations of no rows are not
/// numbers, and some ops refuse them.
Bounds part_bounds(GraphEditor& edit, Endpoint rows, Endpoint sizes, size_t replicas) {
  Endpoint axis = edit.constant("batch/axis", scalar_of(DType::kInt32, 0), {}, kHost),
           one = edit.constant("batch/one", scalar_of(DType::kInt32, 1), {}, kHost);
  NewNode sum{.name = "batch/starts",
              .op = "Cumsum",
              .inputs = {sizes, axis},
              .attrs = {{"exclusive", AttrValue::of(true)}},
              .device = kHost};
  Endpoint last = add_op(edit, "batch/last", "Sub", {rows, one}, kHost);
  Endpoint begins = add_op(edit, "batch/begins", "Minimum", {edit.add_output(std::move(sum)), last}, kHost);
  Endpoint taken = add_op(edit, "batch/taken", "Maximum", {sizes, one}, kHost);
  auto apart = [&](Endpoint bounds) {
    return edit.add({.name = "batch/split",
                     .op = "Split",
                     .inputs = {axis, bounds},
                     .attrs = {{"num_split", AttrValue::of(static_cast<int64_t>(replicas))}},
                     .device = kHost});
  };
  return {apart(begins), apart(add_op(edit, "batch/ends", "AddV2", {begins, taken}, kHost)),
          integers(edit, "batch/strides", {1})};
}

}  // namespace

Endpoint add_op(GraphEditor& edit, std::string name, std::string op, std::vector<Endpoint> inputs,
                const std::string& device) {
  return edit.add_output({.name = std::move(name), .op = std::move(op), .inputs = std::move(inputs), .device = device});
}

Result<BatchParts> split_batch(GraphEditor& edit, const std::vector<Endpoint>& tensors, size_t replicas) {
  std::vector<Endpoint> placeholders;
  for (NodeId node : ancestors(edit.graph(), tensors)) {
    if (is_placeholder(edit.graph().traits(node)) && has_open_batch(edit.graph(), node))
      placeholders.push_back({node, 0});
  }
  if (placeholders.empty())
    return invalid_argument(
        "there is no batch to split: no placeholder that the loss depends on has an open first dimension (-1)");
  for (const Endpoint& p : placeholders) {
    if (edit.graph().requested_device(p.node).empty()) edit.set_device(p.node, kHost);
  }
  BatchParts out;
  Endpoint rows = first_dimension(edit, placeholders[0]);
  out.total = to_float(edit, "batch/rows", rows);
  // Replica i gets floor((rows + R - 1 - i) / R): with a rest, the first ones get one more.
  std::vector<int32_t> rounding;
  for (size_t i = replicas; i-- > 0;) rounding.push_back(static_cast<int32_t>(i));
  Endpoint rounded = add_op(edit, "batch/add", "AddV2", {rows, integers(edit, "batch/add/y", rounding)}, kHost);
  Endpoint count = edit.constant("batch/replicas", scalar_of(DType::kInt32, static_cast<double>(replicas)), {}, kHost);
  Endpoint sizes = add_op(edit, "batch/sizes", "FloorDiv", {rounded, count}, kHost);
  NewNode unstack{.name = "batch/unstack", .op = "Unpack", .inputs = {sizes}, .device = kHost};
  unstack.attrs = {{"num", AttrValue::of(static_cast<int64_t>(replicas))}, {"axis", AttrValue::of(int64_t{0})}};
  NodeId each = edit.add(std::move(unstack));
  Endpoint one = edit.constant("batch/one", scalar_of(DType::kFloat, 1), {}, kHost);
  for (uint32_t i = 0; i < replicas; ++i) {
    out.rows.push_back(to_float(edit, "batch/part", {each, i}));
    Endpoint any = add_op(edit, "batch/any", "Minimum", {out.rows.back(), one}, kHost);
    out.whole.push_back(add_op(edit, "batch/whole", "Mul", {out.total, any}, kHost));
  }
  const Bounds bounds = part_bounds(edit, rows, sizes, replicas);
  for (const Endpoint& p : placeholders) {
    auto& [whole, by_replica] = out.placeholders.emplace_back();
    whole = p;
    for (uint32_t i = 0; i < replicas; ++i) {
      by_replica.push_back(
          add_op(edit, "split", "StridedSlice", {p, {bounds.begins, i}, {bounds.ends, i}, bounds.ones}, kHost));
    }
  }
  return out;
}

Result<std::vector<Endpoint>> tower_weights(const Graph& graph, const BatchParts& parts, size_t i,
                                            const std::vector<Endpoint>& tensors) {
  std::vector<Endpoint> batch, out;
  for (const auto& [whole, by_replica] : parts.placeholders) batch.push_back(whole);
  for (const Endpoint& tensor : tensors) {
    const BatchShare share = batch_share(graph, tensor, batch);
    if (share == BatchShare::kMixed && out.empty()) {
      return invalid_argument(cat("the loss '", graph.name(tensor.node),
                                  "' adds a sum over the samples to what is none, so that the parts of a batch do not "
                                  "make up the whole; take the mean over the samples"));
    }
    out.push_back(share == BatchShare::kSum ? parts.whole[i] : parts.rows[i]);
  }
  return out;
}

std::vector<Endpoint> add_tower(GraphEditor& edit, const std::vector<Endpoint>& tensors, const std::string& scope,
                                const std::string& device, const Replacements& instead) {
  const Graph& g = edit.graph();
  auto replaced = [&](const Endpoint& e) {
    auto found = std::find_if(instead.begin(), instead.end(), [&](const auto& pair) { return pair.first == e; });
    return found == instead.end() ? e : found->second;
  };
  std::vector<NodeId> nodes;
  for (NodeId node : ancestors(g, tensors)) {
    if (is_placeholder(g.traits(node)) || g.traits(node).variable) continue;
    auto inputs = g.inputs(node);
    const bool of_copy = std::any_of(inputs.begin(), inputs.end(),
                                     [&](const Endpoint& e) { return g.traits(e.node).variable && replaced(e) != e; });
    if (reads_variable(g, node) && (!of_copy || replaced({node, 0}) != Endpoint{node, 0})) continue;
    nodes.push_back(node);
  }
  const auto first_copy = static_cast<NodeId>(g.num_nodes());
  std::vector<NodeId> copies = edit.clone(nodes, [&](std::string_view name) { return cat(scope, "/", name); });
  for (NodeId copy : copies) {
    const bool bound = !follow_colocation(edit, copy, first_copy, instead) || takes_handle(g, copy);
    edit.set_device(copy, bound ? "" : device);
    for (uint32_t i = 0; i < g.node(copy).num_inputs; ++i) {
      const Endpoint from = g.inputs(copy)[i];
      if (Endpoint to = replaced(from); to != from) edit.set_input(copy, i, to);
    }
  }
  std::vector<Endpoint> out;
  for (const Endpoint& e : tensors) {
    auto place = std::find(nodes.begin(), nodes.end(), e.node);
    out.push_back(place == nodes.end() ? replaced(e)
                                       : Endpoint{copies[static_cast<size_t>(place - nodes.begin())], e.slot});
  }
  return out;
}

void move_variable(GraphEditor& edit, const TrainVariable& variable, const std::string& device) {
  edit.set_device(variable.node, device);
  for (std::string_view part : {"/initial_value", "/Initializer/initial_value", "/Assign", "/read",
                                "/IsInitialized/VarIsInitializedOp", "/Read/ReadVariableOp"}) {
    if (NodeId node = edit.graph().find(cat(variable.name, part)); node != kNoNode) edit.set_device(node, device);
  }
}

Endpoint add_mean(GraphEditor& edit, const std::vector<Endpoint>& parts, Endpoint total, const std::string& scope,
                  const std::string& device) {
  Endpoint sum = edit.add_output({.name = cat(scope, "AddN"),
                                  .op = "AddN",
                                  .inputs = parts,
                                  .attrs = {{"N", AttrValue::of(static_cast<int64_t>(parts.size()))}},
                                  .device = device});
  return add_op(edit, cat(scope, "truediv"), "RealDiv", {sum, as_type(edit, total, edit.type(sum), scope, device)},
                device);
}

std::vector<Endpoint> add_all_reduced_means(GraphEditor& edit, const std::vector<Tower>& towers,
                                            const std::vector<Endpoint>& parts, Endpoint total, int64_t number) {
  std::vector<Endpoint> means;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string scope = cat(towers[i].scope, "/");
    NewNode reduce{
        .name = cat(scope, "NcclAllReduce"), .op = "NcclAllReduce", .inputs = {parts[i]}, .device = towers[i].device};
    reduce.attrs = {{"reduction", AttrValue::of(std::string("sum"))},
                    {"num_devices", AttrValue::of(static_cast<int64_t>(parts.size()))},
                    {"shared_name", AttrValue::of(cat("c", number))}};
    Endpoint sum = edit.add_output(std::move(reduce));
    means.push_back(add_op(edit, cat(scope, "truediv"), "RealDiv",
                           {sum, as_type(edit, total, edit.type(sum), scope, towers[i].device)}, towers[i].device));
  }
  return means;
}

Endpoint objective(GraphEditor& edit, const Tower& tower) {
  if (tower.weights.empty()) return tower.loss;
  const std::string scope = cat(tower.scope, "/");
  Endpoint weight = as_type(edit, tower.weights.front(), edit.type(tower.loss), scope, tower.device);
  return add_op(edit, cat(scope, "objective"), "Mul", {tower.loss, weight}, tower.device);
}

Endpoint add_mean_over_towers(GraphEditor& edit, const std::vector<Tower>& towers, const std::vector<Endpoint>& values,
                              size_t which, Endpoint total, const std::string& device) {
  std::vector<Endpoint> parts;
  for (size_t i = 0; i < towers.size(); ++i) {
    // The mean of no rows is NaN and counts nothing.
    const std::string scope = cat(towers[i].scope, "/");
    Endpoint weight = as_type(edit, towers[i].weights[which], edit.type(values[i]), scope, towers[i].device);
    parts.push_back(add_op(edit, cat(scope, "MulNoNan"), "MulNoNan", {values[i], weight}, towers[i].device));
  }
  return add_mean(edit, parts, total, "batch/", device);
}

}  // namespace emplace
