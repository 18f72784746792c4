// Part of core/formats/onnx/op_table.h: If, Loop and Scan, as functional control flow.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/body_graph.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

/// What both shapes have in common.
Shape common_shape(const Shape& a, const Shape& b) {
  if (!a.rank_known() || !b.rank_known() || a.rank() != b.rank()) return Shape::unknown();
  Shape out = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) out.dim(i) = -1;
  }
  return out;
}

Endpoint truth(OnnxBlock& b, Endpoint e) { return b.rank(e) == 0 ? e : b.reshape(e, Ints{}); }

struct Branch {
  std::string function;
  std::vector<DType> types;
  std::vector<Shape> shapes;
};

/// The branch that is taken whatever is fed: its nodes in place of the node.
Endpoints inline_branch(OnnxBlock& b, const OnnxGraph& graph) {
  OnnxTranslation& all = b.frame().all();
  if (all.depth >= kDeepestGraph) return b.fail("graphs more than 32 deep"), Endpoints();
  OnnxFrame inner(all, b.frame().body(), &b.frame(), cat(b.prefix(), "/"));
  inner.declare(graph.initializers);
  inner.note(graph.values);
  ++all.depth;
  const bool good = translate_onnx_nodes(inner, graph.nodes, b.opsets());
  --all.depth;
  if (!good) return b.stop(), Endpoints();
  Endpoints outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string_view name = graph.outputs[i].name;
    const Endpoints* sequence = inner.find_sequence(name);
    if (sequence && b.wants(i)) b.frame().bind_sequence(b.node().outputs[i], *sequence);
    outputs.push_back(sequence ? Endpoint{} : inner.find(name));
    if (!sequence && outputs.back().node == kNoNode)
      return b.fail(cat("no node makes the output '", name, "'")), Endpoints();
  }
  return outputs;
}

Endpoints if_node(OnnxBlock& b) {
  Endpoints captures;
  const Endpoint condition = truth(b, b.input(0));
  const std::optional<OnnxGraph> graphs[] = {graph_attribute(b, "then_branch"), graph_attribute(b, "else_branch")};
  if (b.failed()) return {};
  const Tensor* known = b.value(condition);
  if (known && known->dtype() == DType::kBool && known->num_elements() == 1)
    return inline_branch(b, *graphs[*known->data<bool>() ? 0 : 1]);
  OnnxFunctionMaker makers[] = {{b, captures}, {b, captures}};
  Branch branches[2];
  Endpoints results[2];
  for (size_t i = 0; i < 2; ++i) {
    results[i] = makers[i].translate(*graphs[i], {});
    if (b.failed()) return {};
    for (Endpoint e : results[i]) {
      branches[i].types.push_back(makers[i].body().edit().type(e));
      branches[i].shapes.push_back(makers[i].body().edit().shape(e));
    }
  }
  for (size_t i = 0; i < 2; ++i)
    branches[i].function = makers[i].finish(cat(b.prefix(), i == 0 ? "_then" : "_else"), results[i], false);
  if (b.failed()) return {};
  if (branches[0].types != branches[1].types) return {b.fail("branches whose outputs have different types")};
  Endpoints inputs{condition};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  const size_t n = branches[0].types.size();
  Endpoints out = b.make_many("StatelessIf", inputs, n,
                              {{"Tout", AttrValue::list_of(AttrKind::kType, branches[0].types)},
                               {"then_branch", function_attr(branches[0].function)},
                               {"else_branch", function_attr(branches[1].function)}});
  for (size_t i = 0; i < n && !b.failed(); ++i)
    b.edit().known().set_shape(out[i], common_shape(branches[0].shapes[i], branches[1].shapes[i]));
  return out;
}

/// A loop in the making: its variables are a counter, the most steps, a condition, the node's own, and lists of what
/// each step puts out.
struct LoopPlan {
  Endpoint most, condition;
  Endpoints states;
  std::vector<OnnxValueInfo> declared;  // of the states, in the body
  std::vector<Endpoint> scanned;        // of Scan: inputs of which each step has a slice
  std::vector<int> axes;
  std::vector<bool> backwards;
  bool counts = true;  // Loop: the body's first inputs are counter and condition, its first output the condition
};

struct LoopBody {
  std::string function;
  std::vector<DType> list_types;
  std::vector<Shape> list_shapes, state_shapes;
};

constexpr size_t kOwnVariables = 3;  // counter, most steps, condition

/// Of a variable from step to step: what the body says of it. Where it says nothing, Scan's keep their shape, and those
/// of Loop their rank.
Shape varying_shape(const LoopPlan& plan, size_t i, const Shape& first) {
  const Shape& declared = plan.declared[i].shape;
  if (declared.rank_known()) return common_shape(declared, first);
  return plan.counts && first.rank_known() ? Shape::unknown_dims(first.rank()) : first;
}

/// One slice of what Scan goes through.
Endpoint scanned_slice(OnnxBlock& b, OnnxBody& body, const LoopPlan& plan, size_t i, Endpoint counter, Endpoint most) {
  const Endpoint all = body.capture(plan.scanned[i], b.frame().body());
  const auto make = [&](const char* op, Endpoints inputs, OnnxAttrs attrs = {}) {
    NewNode node{.name = body.free_name(cat("scan", i, "/", op)), .op = op};
    node.inputs = std::move(inputs), node.attrs = attrs.take();
    return Endpoint{body.add(std::move(node)), 0};
  };
  const auto number = [&](int32_t v) {
    return make("Const", {}, {{"dtype", attr_of(DType::kInt32)}, {"value", AttrValue::of(Tensor::scalar(v))}});
  };
  Endpoint at = counter;
  if (plan.backwards[i]) {
    const Endpoint one =
        make("Const", {}, {{"dtype", attr_of(DType::kInt64)}, {"value", AttrValue::of(Tensor::scalar(int64_t{1}))}});
    at = make("Sub", {make("Sub", {most, one}), counter});
  }
  return make("GatherV2", {all, at, number(plan.axes[i])});
}

Endpoint pushed(OnnxBody& body, Endpoint list, Endpoint value) {
  NewNode node{.name = body.free_name("TensorListPushBack"), .op = "TensorListPushBack", .inputs = {list, value}};
  node.attrs.emplace_back("element_dtype", AttrValue::of(body.edit().type(value)));
  return {body.add(std::move(node)), 0};
}

Endpoint next_number(OnnxBody& body, Endpoint counter) {
  NewNode one{.name = body.free_name("one"), .op = "Const"};
  one.attrs.emplace_back("dtype", AttrValue::of(DType::kInt64));
  one.attrs.emplace_back("value", AttrValue::of(Tensor::scalar(int64_t{1})));
  const Endpoint by{body.add(std::move(one)), 0};
  return {body.add({.name = body.free_name("next"), .op = "AddV2", .inputs = {counter, by}}), 0};
}

LoopBody loop_body(OnnxBlock& b, const LoopPlan& plan, const OnnxGraph& graph, Endpoints& captures) {
  LoopBody out;
  OnnxFunctionMaker maker(b, captures);
  OnnxBody& body = maker.body();
  const size_t states = plan.states.size(), own_outputs = plan.counts ? 1 : 0;
  if (graph.outputs.size() < own_outputs + states) return b.fail("a body with fewer outputs than states"), out;
  const size_t lists = graph.outputs.size() - own_outputs - states;
  const Endpoint counter = maker.argument(DType::kInt64, Shape{}), most = maker.argument(DType::kInt64, Shape{}),
                 condition = maker.argument(DType::kBool, Shape{});
  Endpoints inputs = plan.counts ? Endpoints{counter, condition} : Endpoints{}, held;
  for (size_t i = 0; i < states; ++i) {
    const Shape shape = varying_shape(plan, i, b.shape(plan.states[i]));
    inputs.push_back(maker.argument(b.type(plan.states[i]), shape));
    out.state_shapes.push_back(shape);
  }
  for (size_t i = 0; i < lists; ++i) held.push_back(maker.argument(DType::kVariant, Shape{}));
  for (size_t i = 0; i < plan.scanned.size(); ++i) inputs.push_back(scanned_slice(b, body, plan, i, counter, most));
  const Endpoints made = maker.translate(graph, inputs);
  if (b.failed()) return out;
  Endpoints results{next_number(body, counter), most, plan.counts ? made[0] : condition};
  results.insert(results.end(), made.begin() + static_cast<std::ptrdiff_t>(own_outputs),
                 made.begin() + static_cast<std::ptrdiff_t>(own_outputs + states));
  for (size_t i = 0; i < lists; ++i) {
    const Endpoint value = made[own_outputs + states + i];
    out.list_types.push_back(body.edit().type(value));
    out.list_shapes.push_back(body.edit().shape(value));
    results.push_back(pushed(body, held[i], value));
  }
  out.function = maker.finish(cat(b.prefix(), "_body"), std::move(results), true);
  return out;
}

/// The steps go on while the counter is below the most, and the condition holds.
std::string loop_condition(OnnxBlock& b, const std::vector<DType>& types) {
  Endpoints none;
  OnnxFunctionMaker maker(b, none);
  OnnxBody& body = maker.body();
  Endpoints arguments;
  for (DType type : types) arguments.push_back(maker.argument(type, Shape::unknown()));
  const Endpoint below{
      body.add({.name = body.free_name("below"), .op = "Less", .inputs = {arguments[0], arguments[1]}}), 0};
  const Endpoint both{body.add({.name = body.free_name("both"), .op = "LogicalAnd", .inputs = {below, arguments[2]}}),
                      0};
  return maker.finish(cat(b.prefix(), "_cond"), {both}, false);
}

Endpoint empty_list(OnnxBlock& b, DType type) {
  return b.make("EmptyTensorList", {b.int32(-1), b.int32(-1)}, {{"element_dtype", attr_of(type)}});
}

Endpoint stacked(OnnxBlock& b, Endpoint list, DType type, const Shape& shape) {
  const Endpoint sizes = shape.rank_known() ? b.ints32(Ints(shape.dims().begin(), shape.dims().end())) : b.int32(-1);
  const Endpoint all = b.make("TensorListStack", {list, sizes}, {{"element_dtype", attr_of(type)}});
  if (b.failed() || !shape.rank_known()) return all;
  Shape whole{-1};
  for (int64_t d : shape.dims()) whole.add_dim(d);
  b.edit().known().set_shape(all, whole);
  return all;
}

Endpoints looped(OnnxBlock& b, const LoopPlan& plan, const OnnxGraph& graph) {
  Endpoints captures;
  const LoopBody body = loop_body(b, plan, graph, captures);
  if (b.failed()) return {};
  Endpoints inputs{b.int64(0), plan.most, plan.condition};
  inputs.insert(inputs.end(), plan.states.begin(), plan.states.end());
  for (DType type : body.list_types) inputs.push_back(empty_list(b, type));
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<DType> types;
  for (Endpoint e : inputs) types.push_back(b.type(e));
  const std::string condition = loop_condition(b, types);
  const Endpoints all = b.make_many("StatelessWhile", inputs, inputs.size(),
                                    {{"cond", function_attr(condition)}, {"body", function_attr(body.function)}});
  Endpoints out;
  for (size_t i = 0; i < plan.states.size() && !b.failed(); ++i) {
    out.push_back(all[kOwnVariables + i]);
    b.edit().known().set_shape(out.back(), body.state_shapes[i]);
  }
  for (size_t i = 0; i < body.list_types.size() && !b.failed(); ++i)
    out.push_back(stacked(b, all[kOwnVariables + plan.states.size() + i], body.list_types[i], body.list_shapes[i]));
  return out;
}

Endpoints loop_node(OnnxBlock& b) {
  const std::optional<OnnxGraph> graph = graph_attribute(b, "body");
  if (!graph) return {};
  LoopPlan plan;
  plan.most = b.has(0) ? truth(b, b.input(0)) : b.int64(INT64_MAX);
  plan.condition = b.has(1) ? truth(b, b.input(1)) : b.scalar(DType::kBool, 1);
  for (size_t i = 2; i < b.num_inputs(); ++i) plan.states.push_back(b.input(i));
  if (graph->inputs.size() != plan.states.size() + 2)
    return {b.fail("a body whose inputs are not counter, condition and states")};
  plan.declared.assign(graph->inputs.begin() + 2, graph->inputs.end());
  return looped(b, plan, *graph);
}

int64_t entry(const Ints& values, size_t i, int64_t otherwise) { return i < values.size() ? values[i] : otherwise; }

Endpoints scan_node(OnnxBlock& b) {
  const std::optional<OnnxGraph> graph = graph_attribute(b, "body");
  if (!graph) return {};
  const auto scanned = static_cast<size_t>(std::clamp<int64_t>(b.integer("num_scan_inputs", 0), 0, INT32_MAX));
  if (scanned < 1 || scanned > b.num_inputs() || graph->inputs.size() != b.num_inputs())
    return {b.fail("a body whose inputs are not the states and a slice of each scanned input")};
  LoopPlan plan;
  plan.counts = false;
  plan.condition = b.scalar(DType::kBool, 1);
  const size_t states = b.num_inputs() - scanned;
  for (size_t i = 0; i < states; ++i) plan.states.push_back(b.input(i));
  plan.declared.assign(graph->inputs.begin(), graph->inputs.begin() + static_cast<std::ptrdiff_t>(states));
  const Ints axes = b.integers("scan_input_axes", Ints()), directions = b.integers("scan_input_directions", Ints());
  for (size_t i = 0; i < scanned; ++i) {
    plan.scanned.push_back(b.input(states + i));
    plan.axes.push_back(b.axis(entry(axes, i, 0), b.rank(plan.scanned.back())));
    plan.backwards.push_back(entry(directions, i, 0) != 0);
  }
  if (b.failed()) return {};
  plan.most = b.squeeze(b.dim_of(plan.scanned[0], plan.axes[0]), {0});
  Endpoints out = looped(b, plan, *graph);
  const Ints out_axes = b.integers("scan_output_axes", Ints()), turned = b.integers("scan_output_directions", Ints());
  for (size_t i = states; i < out.size() && !b.failed(); ++i) {
    if (entry(turned, i - states, 0) != 0) out[i] = b.make("ReverseV2", {out[i], b.ints32({0})});
    const int64_t to = entry(out_axes, i - states, 0);
    if (to == 0) continue;
    const int rank = b.rank(out[i]), axis = b.axis(to, rank);
    Ints perm;
    for (int d = 1; d < rank; ++d) perm.push_back(d);
    perm.insert(perm.begin() + std::min(axis, rank - 1), 0);
    out[i] = b.transpose(out[i], perm);
  }
  return out;
}

constexpr OnnxOp kControlOps[] = {{"If", 1, if_node}, {"Loop", 1, loop_node}, {"Scan", 9, scan_node}};

}  // namespace

std::span<const OnnxOp> onnx_control_ops() { return kControlOps; }

}  // namespace emplace
