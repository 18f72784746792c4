#include "core/train/gradients.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/train/gradient_node.h"
#include "core/train/gradient_path.h"
#include "core/train/loops/loop_gradients.h"
#include "core/train/loops/loop_shapes.h"
#include "core/train/loops/missing_exits.h"
#include "core/train/needed_nodes.h"

namespace emplace {
namespace {

class Backprop {
 public:
  /// `num_given`: of nodes that stay, needed or not.
  Backprop(GraphEditor& edit, NodeId num_given, Endpoint loss, std::span<const Endpoint> xs,
           const GradientOptions& options)
      : edit_(edit),
        graph_(edit.graph()),
        loss_(loss),
        xs_(xs),
        options_(options),
        num_given_(num_given),
        num_forward_(graph_.num_nodes()) {}

  Result<Gradients> run() {
    RETURN_IF_ERROR(check_types());
    mark_reached();
    mark_between();
    scope_ = edit_.names().unique(options_.scope);
    RETURN_IF_ERROR(find_loops());
    seed();
    RETURN_IF_ERROR(add_loops());
    count_pending();
    if (pending_[loss_.node] == 0 && between_[loss_.node]) ready_.push_back(loss_.node);
    visit_unused_exits();
    for (; !ready_.empty(); ready_.pop_front()) RETURN_IF_ERROR(go_back(ready_.front()));
    if (loops_) loops_->finish();
    Gradients out;
    GradientPath path(graph_, loss_, num_forward_, no_gradient_);
    for (Endpoint x : xs_) {
      PartialGradient gradient = arrived_at(x);
      NodeGradient node = context(x.node);
      node.set_scope(scope_);
      if (gradient.valid() && !options_.keep_slices) gradient = {node.densify(gradient), {}, {}};
      out.of.push_back({gradient.values.node, gradient.values.slot});
      out.indices.push_back({gradient.indices.node, gradient.indices.slot});
      out.why_not.push_back(gradient.valid() ? "" : path.why_not(x));
    }
    RETURN_IF_ERROR(Status(edit_.status()));
    std::vector<NodeId> results;
    for (size_t i = 0; i < xs_.size(); ++i) results.insert(results.end(), {out.of[i].node, out.indices[i].node});
    drop_unneeded(edit_, num_given_, results, loops_ ? &loops_->places() : nullptr);
    return out;
  }

 private:
  NodeGradient context(NodeId node) {
    NodeGradient made(edit_, node, options_.colocate);
    made.set_source(scope_);
    return made;
  }

  Status check_types() const {
    if (!is_floating(base_type(edit_.type(loss_)))) {
      return invalid_argument(cat("'", graph_.name(loss_.node), "' is ", dtype_name(edit_.type(loss_)),
                                  ", and only a floating-point tensor has gradients"));
    }
    for (Endpoint x : xs_) {
      if (!carries_gradient(edit_.type(x)) || base_type(edit_.type(x)) == DType::kVariant) {
        return invalid_argument(cat("'", graph_.name(x.node), "' is ", dtype_name(edit_.type(x)),
                                    ": a gradient is with respect to a floating-point tensor or a variable"));
      }
    }
    return ok_status();
  }

  // What the xs reach through outputs that carry gradients.
  void mark_reached() {
    reached_.assign(num_forward_, false);
    Consumers consumers(graph_);
    std::vector<NodeId> stack;
    for (Endpoint x : xs_) stack.push_back(x.node);
    while (!stack.empty()) {
      NodeId id = stack.back();
      stack.pop_back();
      if (reached_[id]) continue;
      reached_[id] = true;
      for (const Consumers::Edge& edge : consumers.of(id)) {
        if (edge.input >= 0 && carries_gradient(graph_.output_type({id, edge.slot}))) stack.push_back(edge.node);
      }
    }
  }

  // The nodes between the loss and the xs, those near the loss first.
  void mark_between() {
    between_.assign(num_forward_, false);
    std::deque<NodeId> queue{loss_.node};
    for (; !queue.empty(); queue.pop_front()) {
      const NodeId id = queue.front();
      if (!reached_[id] || between_[id]) continue;
      between_[id] = true;
      between_nodes_.push_back(id);
      for (const Endpoint& e : graph_.inputs(id)) queue.push_back(e.node);
    }
  }

  // How many of their readers' gradients are still missing.
  void count_pending() {
    pending_.assign(num_forward_, 0);
    for (NodeId id : between_nodes_) {
      for (const Endpoint& e : graph_.inputs(id)) pending_[e.node] += between_[e.node];
    }
  }

  bool is_exit(NodeId id) const { return graph_.traits(id).control == Control::kExit; }

  Status find_loops() {
    auto in_loops = [&](NodeId id) {
      const Control control = graph_.traits(id).control;
      return control == Control::kExit || control == Control::kEnter || control == Control::kNextIteration;
    };
    if (std::none_of(between_nodes_.begin(), between_nodes_.end(), in_loops)) return ok_status();
    ASSIGN_OR_RETURN(ForwardLoops loops, ForwardLoops::find(graph_));
    infer_loop_shapes(edit_, loops);
    loops_.emplace(edit_, std::move(loops), options_.colocate);
    std::vector<Endpoint> ends(xs_.begin(), xs_.end());
    ends.push_back(loss_);
    for (Endpoint e : ends) {
      if (!loops_->is_inside(e.node)) continue;
      return invalid_argument(
          cat("'", graph_.name(e.node), "' is inside of loop '", loops_->frame_name(e.node),
              "': a gradient is that of a tensor outside of loops, with respect to others outside"));
    }
    return ok_status();
  }

  // A loop that is differentiated is so with all its variables.
  Status add_loops() {
    for (size_t i = 0; loops_ && i < between_nodes_.size(); ++i) {
      if (!is_exit(between_nodes_[i])) continue;
      ASSIGN_OR_RETURN(std::vector<NodeId> exits, loops_->add_loop(between_nodes_[i], scope_));
      for (NodeId exit : exits) {
        if (!between_[exit]) between_nodes_.push_back(exit);
        between_[exit] = true;
      }
    }
    return Status(edit_.status());
  }

  void visit_unused_exits() {
    if (!loops_) return;
    for (NodeId exit : loops_->unused_exits([&](NodeId id) { return pending_[id] > 0; }, loss_.node))
      visit_with_zeros(exit);
  }

  void visit_with_zeros(NodeId exit) {
    if (carries_gradient(graph_.output_type({exit, 0}))) put({exit, 0}, {loops_->zeros_for_exit(exit, scope_), {}, {}});
    ready_.push_back(exit);
  }

  bool has_gradient(NodeId id) const {
    auto found = gradients_.find(id);
    return found != gradients_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [](const auto& parts) { return !parts.empty(); });
  }

  // One reader less to wait for. The Exits of a loop are visited together, the Switch of a loop variable twice.
  void one_less(NodeId id) {
    const int64_t left = --pending_[id];
    if (left != 0 && !(left > 0 && loops_ && loops_->is_loop_switch(id))) return;
    if (!is_exit(id)) return ready_.push_back(id);
    const std::vector<NodeId> exits = loops_->exit_is_ready(id, [&](NodeId exit) { return has_gradient(exit); });
    const bool any = std::any_of(exits.begin(), exits.end(), [&](NodeId exit) { return has_gradient(exit); });
    for (NodeId exit : exits) {
      if (any && !has_gradient(exit))
        visit_with_zeros(exit);
      else
        ready_.push_back(exit);
    }
  }

  // d(sum of the loss) / d(loss): ones.
  void seed() {
    NodeGradient node = context(loss_.node);
    node.set_scope(scope_);
    const Value loss{loss_.node, loss_.slot};
    const Value shape = node.shape_of(loss), one = node.scalar(node.type(loss), 1, "grad_ys_0/Const");
    put(loss_, {node.add("Fill", {shape, one}, {}, "grad_ys_0"), {}, {}});
  }

  void put(Endpoint tensor, PartialGradient gradient) {
    auto& of_node = gradients_[tensor.node];
    if (of_node.size() <= tensor.slot) of_node.resize(tensor.slot + size_t{1});
    of_node[tensor.slot].push_back(gradient);
  }

  PartialGradient arrived_at(Endpoint tensor) const {
    auto found = gradients_.find(tensor.node);
    if (found == gradients_.end() || found->second.size() <= tensor.slot || found->second[tensor.slot].empty())
      return {};
    return found->second[tensor.slot].front();
  }

  // An x below which nothing leads to another x: its gradient is wanted, not what comes before it.
  bool is_end(NodeId id) const {
    if (std::none_of(xs_.begin(), xs_.end(), [&](Endpoint x) { return x.node == id; })) return false;
    auto inputs = graph_.inputs(id);
    return std::none_of(inputs.begin(), inputs.end(), [&](const Endpoint& e) { return between_[e.node]; });
  }

  // One node: sums what arrived at its outputs, and sends on what its op makes of that.
  Status go_back(NodeId id) {
    NodeGradient node = context(id);
    node.set_scope(scope_);
    if (loops_) node.set_loop(loops_->loop_of(id, true));
    std::vector<PartialGradient> arrived = sum_up(node, id);
    if (loops_) node.set_loop(loops_->loop_of(id, false));
    const bool any = std::any_of(arrived.begin(), arrived.end(), [](const PartialGradient& g) { return g.valid(); });
    if (any && !is_end(id)) RETURN_IF_ERROR(differentiate(node, id, std::move(arrived)));
    for (const Endpoint& e : graph_.inputs(id)) {
      if (between_[e.node]) one_less(e.node);
    }
    return Status(edit_.status());
  }

  std::vector<PartialGradient> sum_up(NodeGradient& node, NodeId id) {
    auto& of_node = gradients_[id];
    of_node.resize(graph_.num_outputs(id));
    std::vector<PartialGradient> sums;
    for (auto& parts : of_node) {
      if (parts.size() > 1) parts = {add_up(node, parts)};
      sums.push_back(parts.empty() ? PartialGradient{} : parts.front());
    }
    return sums;
  }

  static PartialGradient add_up(NodeGradient& node, const std::vector<PartialGradient>& parts) {
    if (std::all_of(parts.begin(), parts.end(), [](const PartialGradient& g) { return g.is_slices(); })) {
      const DType type = node.type(parts.front().indices);
      const bool one_type = std::all_of(parts.begin(), parts.end(),
                                        [&](const PartialGradient& g) { return node.type(g.indices) == type; });
      std::vector<Value> values, indices;
      for (const PartialGradient& g : parts) {
        values.push_back(g.values);
        indices.push_back(one_type ? g.indices : node.cast(g.indices, DType::kInt64));
      }
      Value all = node.concat(values);
      return {all, node.concat(indices), parts.front().dense_shape};
    }
    std::vector<Value> dense;
    dense.reserve(parts.size());
    for (const PartialGradient& g : parts) dense.push_back(node.densify(g));
    const bool tensors =
        std::none_of(parts.begin(), parts.end(), [](const PartialGradient& g) { return g.is_slices(); });
    return {tensors ? node.add_by_device(dense) : node.add("AddN", dense, {}, {}), {}, {}};
  }

  Status differentiate(NodeGradient& node, NodeId id, std::vector<PartialGradient> arrived) {
    const OpDef* def = graph_.type(id).def;
    const GradientFunction function = def ? def->gradient_function() : nullptr;
    if (!function) {
      if (def && def->stops_gradients()) return ok_status();
      return unimplemented(cat("op '", graph_.op(id), "' of node '", graph_.name(id), "' has no gradient; the path is ",
                               GradientPath(graph_, loss_, num_forward_, no_gradient_).text(id)));
    }
    std::vector<bool> zeros(arrived.size(), false);
    for (uint32_t slot = 0; slot < arrived.size(); ++slot) {
      const DType type = base_type(graph_.output_type({id, slot}));
      const bool list = type == DType::kVariant && !(node.loop() && graph_.traits(id).control == Control::kSwitch);
      const bool handle = list || (type == DType::kResource && !node.loop());
      if (arrived[slot].valid() || !carries_gradient(type) || handle) continue;
      arrived[slot].values =
          node.loop() ? loops_->zeros(node, id, slot, arrived) : node.add("ZerosLike", {{id, slot}}, {}, "zeros_like");
      zeros[slot] = true;
    }
    node.set_scope(edit_.names().unique(cat(scope_, "/", graph_.name(id), "_grad")));
    node.set_arrived(std::move(arrived), std::move(zeros));
    bool done = false;
    if (node.loop()) {
      ASSIGN_OR_RETURN(done, loops_->differentiate(node, id));
    }
    if (!done)
      RETURN_IF_ERROR(
          function(node).with_context(cat("gradient of node '", graph_.name(id), "' (", graph_.op(id), ")")));
    std::vector<PartialGradient>& results = node.results();
    if (node.loop() && !done) RETURN_IF_ERROR(loops_->bring_in(node));
    for (uint32_t i = 0; i < results.size(); ++i) {
      if (!results[i].valid()) no_gradient_.push_back({id, i});
      if (!between_[graph_.inputs(id)[i].node]) results[i] = {};
    }
    if (options_.gate) gate(node, results);
    for (uint32_t i = 0; i < results.size(); ++i) {
      if (results[i].valid()) put(graph_.inputs(id)[i], results[i]);
    }
    return ok_status();
  }

  // control_flow_ops.tuple(): none of an op's gradients is there before all of them are.
  void gate(NodeGradient& node, std::vector<PartialGradient>& results) {
    std::vector<NodeId> sources;
    for (const PartialGradient& g : results) {
      if (g.valid()) sources.push_back(g.values.node);
    }
    if (sources.size() < 2) return;
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    std::string_view device = graph_.requested_device(sources.front());
    bool one_device =
        std::all_of(sources.begin(), sources.end(), [&](NodeId s) { return graph_.requested_device(s) == device; });
    const std::string scope = edit_.names().unique(cat(node.scope(), "/tuple"));
    auto add = [&](NewNode added) {
      return node.loop() ? loops_->places().add(std::move(added), node.loop()->place())
                         : edit_.add_output(std::move(added));
    };
    NodeId gate = add({.name = cat(scope, "/group_deps"),
                       .op = "NoOp",
                       .controls = sources,
                       .device = std::string(one_device ? device : "")})
                      .node;
    for (PartialGradient& g : results) {
      if (!g.valid()) continue;
      g.values = value_of(add({.name = cat(scope, "/control_dependency"),
                               .op = "Identity",
                               .inputs = {{g.values.node, g.values.slot}},
                               .controls = {gate},
                               .colocate_with = {g.values.node}}));
    }
  }

  static Value value_of(Endpoint e) { return {e.node, e.slot}; }

  GraphEditor& edit_;
  const Graph& graph_;
  Endpoint loss_;
  std::span<const Endpoint> xs_;
  const GradientOptions& options_;
  const NodeId num_given_;
  const NodeId num_forward_;
  std::string scope_;
  std::vector<bool> reached_, between_;  // by forward node
  std::vector<int64_t> pending_;         // by forward node: readers between it and the loss that are still to come
  std::deque<NodeId> ready_;
  std::vector<NodeId> between_nodes_;
  std::optional<LoopGradients> loops_;  // if there are loops between the loss and the xs
  std::unordered_map<NodeId, std::vector<std::vector<PartialGradient>>> gradients_;  // by output: what arrived
  std::vector<std::pair<NodeId, uint32_t>> no_gradient_;  // inputs for which a gradient function had none
};

}  // namespace

Result<Gradients> add_gradients(GraphEditor& edit, Endpoint loss, std::span<const Endpoint> xs,
                                const GradientOptions& options) {
  const NodeId num_given = edit.graph().num_nodes();
  add_missing_exits(edit);
  return Backprop(edit, num_given, loss, xs, options).run();
}

}  // namespace emplace
