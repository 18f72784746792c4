// Part of core/formats/onnx/op_table.h: If, Loop and Scan, as functional control flow.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/body_graph.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/sequence_list.h"

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

/// How a value goes in and out of a function: as one tensor; a sequence as its list and, if it may be missing, a flag.
struct Passage {
  bool sequence = false, given = false, optional_tensor = false;
  DType type = DType::kInvalid;
  Shape element = Shape::unknown();
  size_t count() const { return given ? 2 : 1; }
};

/// What fits all of these.
Passage passage_of(OnnxBlock& b, std::initializer_list<const OnnxValue*> values) {
  Passage p;
  for (const OnnxValue* v : values) p.sequence |= v->sequence.has_value();
  for (const OnnxValue* v : values) {
    if (!p.sequence || !v->sequence) continue;
    const OnnxSequence& s = *v->sequence;
    const bool first = p.type == DType::kInvalid;
    if (!first && s.type != DType::kInvalid && s.type != p.type)
      b.fail(cat("sequences of ", dtype_name(p.type), " and of ", dtype_name(s.type)));
    p.given |= s.given.node != kNoNode;
    p.optional_tensor |= s.optional_tensor;
    p.element = first || p.element == s.element ? s.element : Shape::unknown();
    if (first) p.type = s.type;
  }
  if (p.sequence && p.type == DType::kInvalid) b.fail("a sequence of a type that is not known");
  return p;
}

Endpoints passed(OnnxBlock& b, const OnnxValue& value, const Passage& p) {
  if (!p.sequence) return {value.tensor};
  const OnnxSequence s = onnx_sequence_of(b, value);
  Endpoints out{onnx_list(b, s, p.type)};
  if (p.given) out.push_back(s.given.node == kNoNode ? b.scalar(DType::kBool, 1) : s.given);
  return out;
}

/// From the first of `tensors` on.
OnnxValue received(const Passage& p, const Endpoint* tensors) {
  if (!p.sequence) return {.tensor = tensors[0]};
  OnnxSequence s{.list = tensors[0], .type = p.type, .element = p.element};
  s.optional_tensor = p.optional_tensor;
  if (p.given) s.given = tensors[1];
  return {.sequence = std::move(s)};
}

/// The node's output: a sequence gets its name at once.
Endpoint named_output(OnnxBlock& b, size_t i, OnnxValue value) {
  if (value.sequence) b.make_sequence(*std::move(value.sequence), i);
  return value.tensor;
}

/// The branch that is taken whatever is fed: its nodes in place of the node.
Endpoints inline_branch(OnnxBlock& b, const OnnxGraph& graph) {
  Endpoints outputs;
  for (OnnxValue& value : inline_onnx_graph(b, graph, {}))
    outputs.push_back(named_output(b, outputs.size(), std::move(value)));
  return outputs;
}

struct Branch {
  std::string function;
  std::vector<DType> types;
  std::vector<Shape> shapes;
};

Branch finished_branch(OnnxFunctionMaker& maker, const std::string& name, const std::vector<OnnxValue>& values,
                       const std::vector<Passage>& passages) {
  const Endpoints results = maker.build([&](OnnxBlock& in) {
    Endpoints all;
    for (size_t k = 0; k < values.size(); ++k) {
      const Endpoints more = passed(in, values[k], passages[k]);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  });
  Branch branch;
  for (Endpoint e : results) {
    branch.types.push_back(maker.body().edit().type(e));
    branch.shapes.push_back(maker.body().edit().shape(e));
  }
  branch.function = maker.finish(name, results, false);
  return branch;
}

/// The node of an If, and what its outputs are.
Endpoints branched(OnnxBlock& b, Endpoint condition, const Endpoints& captures, OnnxFunctionMaker (&makers)[2],
                   const std::vector<OnnxValue> (&values)[2], const std::vector<Passage>& passages) {
  Branch branches[2];
  for (size_t i = 0; i < 2 && !b.failed(); ++i)
    branches[i] = finished_branch(makers[i], cat(b.prefix(), i == 0 ? "_then" : "_else"), values[i], passages);
  if (b.failed()) return {};
  if (branches[0].types != branches[1].types) return {b.fail("branches whose outputs have different types")};
  Endpoints inputs{condition};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  const size_t n = branches[0].types.size();
  const Endpoints all = b.make_many("StatelessIf", inputs, n,
                                    {{"Tout", AttrValue::list_of(AttrKind::kType, branches[0].types)},
                                     {"then_branch", function_attr(branches[0].function)},
                                     {"else_branch", function_attr(branches[1].function)}});
  for (size_t i = 0; i < n && !b.failed(); ++i)
    b.edit().known().set_shape(all[i], common_shape(branches[0].shapes[i], branches[1].shapes[i]));
  Endpoints out;
  size_t at = 0;
  for (size_t k = 0; k < passages.size() && !b.failed(); at += passages[k++].count())
    out.push_back(named_output(b, k, received(passages[k], &all[at])));
  return out;
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
  std::vector<OnnxValue> values[2];
  for (size_t i = 0; i < 2; ++i) {
    values[i] = makers[i].translate(*graphs[i], {});
    if (b.failed()) return {};
  }
  if (values[0].size() != values[1].size()) return {b.fail("branches with different numbers of outputs")};
  std::vector<Passage> passages;
  for (size_t k = 0; k < values[0].size(); ++k) passages.push_back(passage_of(b, {&values[0][k], &values[1][k]}));
  return branched(b, condition, captures, makers, values, passages);
}

/// A loop in the making: its variables are a counter, the most steps, a condition, the node's own, and lists of what
/// each step puts out.
/// An input of which each step has a part: a slice (Scan), or an element (SequenceMap); or it as it is.
struct LoopInput {
  enum class Part : uint8_t { kSlice, kElement, kAll };
  Part part = Part::kSlice;
  Endpoint all = {};
  int axis = 0;
  bool backwards = false;
  DType type = DType::kInvalid;  // of elements
  Shape element = Shape::unknown();
};

struct LoopPlan {
  Endpoint most, condition;
  std::vector<OnnxValue> states;
  std::vector<OnnxValueInfo> declared;  // of the states, in the body
  std::vector<LoopInput> scanned;
  bool counts = true;        // Loop: the body's first inputs are counter and condition, its first output the condition
  bool keeps_lists = false;  // what each step puts out stays a sequence
};

struct LoopBody {
  std::string function;
  std::vector<DType> list_types;
  std::vector<Shape> list_shapes, state_shapes;
  std::vector<Passage> passages;  // of the states
};

constexpr int64_t kMostScannedRows = 256;  // of a batch, each a loop of its own
constexpr size_t kOwnVariables = 3;        // counter, most steps, condition

/// Of a variable from step to step: what the body says of it. Where it says nothing, Scan's keep their shape, and those
/// of Loop their rank.
Shape varying_shape(const LoopPlan& plan, size_t i, const Shape& first) {
  const Shape& declared = plan.declared[i].shape;
  if (declared.rank_known()) return common_shape(declared, first);
  return plan.counts && first.rank_known() ? Shape::unknown_dims(first.rank()) : first;
}

/// What a step sees of it.
Endpoint part_of_step(OnnxBlock& in, const LoopInput& input, Endpoint all, Endpoint counter, Endpoint most) {
  if (input.part == LoopInput::Part::kAll) return all;
  if (input.part == LoopInput::Part::kElement) return onnx_list_item(in, all, counter, input.type, input.element);
  const Endpoint at = input.backwards ? in.sub(in.sub(most, in.int64(1)), counter) : counter;
  return in.make("GatherV2", {all, at, in.int32(input.axis)});
}

/// The states at the beginning of a step, as arguments.
std::vector<OnnxValue> state_arguments(OnnxBlock& b, OnnxFunctionMaker& maker, const LoopPlan& plan, LoopBody& out) {
  std::vector<OnnxValue> states;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    Passage p = passage_of(b, {&plan.states[i]});
    p.element = Shape::unknown();  // may change from step to step
    if (p.sequence && plan.declared[i].kind != OnnxValueInfo::Kind::kUnknown) p.element = plan.declared[i].shape;
    Endpoints arguments;
    if (p.sequence) {
      arguments.push_back(maker.argument(DType::kVariant, Shape{}));
      if (p.given) arguments.push_back(maker.argument(DType::kBool, Shape{}));
      out.state_shapes.insert(out.state_shapes.end(), arguments.size(), Shape{});
    } else {
      const Endpoint first = plan.states[i].tensor;
      out.state_shapes.push_back(varying_shape(plan, i, b.shape(first)));
      arguments.push_back(maker.argument(b.type(first), out.state_shapes.back()));
    }
    states.push_back(received(p, arguments.data()));
    out.passages.push_back(std::move(p));
  }
  return states;
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
  std::vector<OnnxValue> inputs;
  if (plan.counts) inputs = {{.tensor = counter}, {.tensor = condition}};
  for (OnnxValue& state : state_arguments(b, maker, plan, out)) inputs.push_back(std::move(state));
  if (b.failed()) return out;
  Endpoints held;
  for (size_t i = 0; i < lists; ++i) held.push_back(maker.argument(DType::kVariant, Shape{}));
  maker.build([&](OnnxBlock& in) {
    for (const LoopInput& input : plan.scanned)
      inputs.push_back({.tensor = part_of_step(in, input, body.capture(input.all, b.frame().body()), counter, most)});
    return Endpoints{};
  });
  const std::vector<OnnxValue> made = maker.translate(graph, std::move(inputs));
  if (b.failed()) return out;
  Endpoints results = maker.build([&](OnnxBlock& in) {
    Endpoints all{in.add(counter, in.int64(1)), most, plan.counts ? made[0].tensor : condition};
    for (size_t i = 0; i < states; ++i) {
      const Endpoints more = passed(in, made[own_outputs + i], out.passages[i]);
      all.insert(all.end(), more.begin(), more.end());
    }
    for (size_t i = 0; i < lists; ++i) {
      const Endpoint value = made[own_outputs + states + i].tensor;
      if (value.node == kNoNode) return in.fail("a body that puts out sequences"), all;
      out.list_types.push_back(in.type(value));
      out.list_shapes.push_back(in.shape(value));
      all.push_back(onnx_pushed(in, held[i], value));
    }
    return all;
  });
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
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const Endpoints more = passed(b, plan.states[i], body.passages[i]);
    inputs.insert(inputs.end(), more.begin(), more.end());
  }
  for (DType type : body.list_types) inputs.push_back(onnx_list(b, OnnxSequence(), type));
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<DType> types;
  for (Endpoint e : inputs) types.push_back(b.type(e));
  const std::string condition = loop_condition(b, types);
  const Endpoints all = b.make_many("StatelessWhile", inputs, inputs.size(),
                                    {{"cond", function_attr(condition)}, {"body", function_attr(body.function)}});
  Endpoints out;
  size_t at = kOwnVariables;
  for (size_t k = 0; k < body.state_shapes.size() && !b.failed(); ++k)
    b.edit().known().set_shape(all[at + k], body.state_shapes[k]);
  for (size_t i = 0; i < plan.states.size() && !b.failed(); at += body.passages[i++].count())
    out.push_back(named_output(b, i, received(body.passages[i], &all[at])));
  for (size_t i = 0; i < body.list_types.size() && !b.failed(); ++i, ++at) {
    const DType type = body.list_types[i];
    const Shape& shape = body.list_shapes[i];
    OnnxSequence kept{.list = all[at], .type = type, .element = shape};
    out.push_back(plan.keeps_lists ? named_output(b, out.size(), {.sequence = std::move(kept)})
                                   : stacked(b, all[at], type, shape));
  }
  return out;
}

OnnxValue input_value(OnnxBlock& b, size_t i) {
  return b.is_sequence(i) ? OnnxValue{.sequence = b.sequence(i)} : OnnxValue{.tensor = b.input(i)};
}

Endpoints loop_node(OnnxBlock& b) {
  const std::optional<OnnxGraph> graph = graph_attribute(b, "body");
  if (!graph) return {};
  LoopPlan plan;
  plan.most = b.has(0) ? truth(b, b.input(0)) : b.int64(INT64_MAX);
  plan.condition = b.has(1) ? truth(b, b.input(1)) : b.scalar(DType::kBool, 1);
  for (size_t i = 2; i < b.num_inputs(); ++i) plan.states.push_back(input_value(b, i));
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
  for (size_t i = 0; i < states; ++i) plan.states.push_back({.tensor = b.input(i)});
  plan.declared.assign(graph->inputs.begin(), graph->inputs.begin() + static_cast<std::ptrdiff_t>(states));
  const Ints axes = b.integers("scan_input_axes", Ints()), directions = b.integers("scan_input_directions", Ints());
  for (size_t i = 0; i < scanned; ++i) {
    const Endpoint all = b.input(states + i);
    plan.scanned.push_back(
        {.all = all, .axis = b.axis(entry(axes, i, 0), b.rank(all)), .backwards = entry(directions, i, 0) != 0});
  }
  if (b.failed()) return {};
  plan.most = b.squeeze(b.dim_of(plan.scanned[0].all, plan.scanned[0].axis), {0});
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

/// The body for each element, of all sequences at once.
Endpoints sequence_map(OnnxBlock& b) {
  const std::optional<OnnxGraph> graph = graph_attribute(b, "body");
  if (!graph) return {};
  if (graph->inputs.size() != b.num_inputs()) return {b.fail("a body with another number of inputs")};
  LoopPlan plan;
  plan.counts = false, plan.keeps_lists = true;
  plan.condition = b.scalar(DType::kBool, 1);
  for (size_t i = 0; i < b.num_inputs(); ++i) {
    if (!b.is_sequence(i)) {
      plan.scanned.push_back({.part = LoopInput::Part::kAll, .all = b.input(i)});
      continue;
    }
    const OnnxSequence s = b.sequence(i);
    const Endpoint list = onnx_list(b, s, s.type);
    if (i == 0) plan.most = onnx_list_length(b, list);
    plan.scanned.push_back({.part = LoopInput::Part::kElement, .all = list, .type = s.type, .element = s.element});
  }
  if (plan.most.node == kNoNode) return {b.fail("a first input that is no sequence")};
  return looped(b, plan, *graph);
}

/// Operator set 8: of each row of a batch, by itself; all inputs and outputs have that dimension first. `lengths`: how
/// many steps of each row count, all if it is left out.
Endpoints batch_scan(OnnxBlock& b) {
  const std::optional<OnnxGraph> graph = graph_attribute(b, "body");
  if (!graph) return {};
  if (b.has(0)) return {b.fail("sequence_lens of the steps")};
  const auto scanned = static_cast<size_t>(std::clamp<int64_t>(b.integer("num_scan_inputs", 0), 0, INT32_MAX));
  const int64_t rows = b.num_inputs() < 2 ? -1 : b.dim(b.input(1), 0);
  if (scanned < 1 || scanned >= b.num_inputs() || graph->inputs.size() + 1 != b.num_inputs() || rows < 1 ||
      rows > kMostScannedRows)
    return {b.fail("a body whose inputs do not fit, or a batch that is not known")};
  const Ints directions = b.integers("directions", Ints());
  const size_t states = b.num_inputs() - 1 - scanned;
  std::vector<Endpoints> by_output;
  for (int64_t row = 0; row < rows && !b.failed(); ++row) {
    const auto own = [&](size_t i) { return b.squeeze(b.slice(b.input(i), 0, row, row + 1), {0}); };
    LoopPlan plan;
    plan.counts = false;
    plan.condition = b.scalar(DType::kBool, 1);
    for (size_t i = 0; i < states; ++i) plan.states.push_back({.tensor = own(1 + i)});
    plan.declared.assign(graph->inputs.begin(), graph->inputs.begin() + static_cast<std::ptrdiff_t>(states));
    for (size_t i = 0; i < scanned; ++i)
      plan.scanned.push_back({.all = own(1 + states + i), .backwards = entry(directions, i, 0) != 0});
    plan.most = b.squeeze(b.dim_of(plan.scanned[0].all, 0), {0});
    const Endpoints out = looped(b, plan, *graph);
    by_output.resize(out.size());
    for (size_t i = 0; i < out.size(); ++i) by_output[i].push_back(out[i]);
  }
  Endpoints out;
  for (const Endpoints& parts : by_output)
    if (!b.failed()) out.push_back(b.make("Pack", parts));
  return out;
}

constexpr OnnxOp kControlOps[] = {{"If", 1, if_node},
                                  {"Loop", 1, loop_node},
                                  {"Scan", 8, batch_scan},
                                  {"Scan", 9, scan_node},
                                  {"SequenceMap", 17, sequence_map}};

}  // namespace

std::span<const OnnxOp> onnx_control_ops() { return kControlOps; }

}  // namespace emplace
