#include "core/train/strategies/assembly.h"

#include "core/base/cat.h"
#include "core/graph/lookup.h"
#include "core/train/gradients.h"
#include "core/train/optimizers/learning_rate.h"

namespace emplace {
namespace {

/// sqrt(2 * sum(|g|^2 / 2)) over all gradients.
Endpoint add_global_norm(GraphEditor& edit, const std::vector<GradientAndVariable>& gradients,
                         const std::string& device) {
  std::vector<Endpoint> halves;
  halves.reserve(gradients.size());
  for (const GradientAndVariable& g : gradients) {
    halves.push_back(edit.add_output({.name = "global_norm/L2Loss",
                                      .op = "L2Loss",
                                      .inputs = {g.gradient},
                                      .device = device,
                                      .colocate_with = {g.gradient.node}}));
  }
  const DType type = edit.type(halves.front());
  Endpoint stack = edit.add_output({.name = "global_norm/stack",
                                    .op = "Pack",
                                    .inputs = halves,
                                    .attrs = {{"axis", AttrValue::of(int64_t{0})}},
                                    .device = device});
  Endpoint axes = edit.constant("global_norm/Const", Tensor::of<int32_t>({1}, std::vector<int32_t>{0}), {}, device);
  Endpoint half = add_op(edit, "global_norm/Sum", "Sum", {stack, axes}, device);
  Endpoint two = edit.constant("global_norm/Const", scalar_of(type, 2), {}, device);
  return add_op(edit, "global_norm/global_norm", "Sqrt", {add_op(edit, "global_norm/mul", "Mul", {half, two}, device)},
                device);
}

}  // namespace

Result<std::vector<GradientAndVariable>> gradients_of(Assembly& a, Endpoint loss, std::vector<TrainVariable>& variables,
                                                      const std::string& scope) {
  std::vector<Endpoint> xs;
  xs.reserve(variables.size());
  for (const TrainVariable& v : variables) xs.push_back(v.handle());
  // The norm of slices is that of what they hold: a row that stands there twice counts twice.
  const bool keep_slices = a.rule.updates_rows() || a.request.clip_norm;
  ASSIGN_OR_RETURN(Gradients made, add_gradients(a.edit, loss, xs,
                                                 {.colocate = a.request.colocate_gradients,
                                                  .gate = true,
                                                  .keep_slices = keep_slices,
                                                  .scope = cat(scope, "gradients")}));
  std::vector<GradientAndVariable> out;
  std::vector<TrainVariable> reached;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (made.of[i].node == kNoNode) {
      if (a.listed || variables.size() == 1) return invalid_argument(made.why_not[i]);
      continue;
    }
    out.push_back({made.of[i], variables[i], made.indices[i]});
    reached.push_back(variables[i]);
  }
  if (out.empty())
    return invalid_argument(cat("the loss depends on no variable that can be trained: ", made.why_not[0]));
  variables = std::move(reached);
  return out;
}

GradientAndVariable mean_gradient(Assembly& a, const std::vector<GradientAndVariable>& parts, Endpoint total,
                                  const std::string& device) {
  GradientAndVariable mean = parts.front();
  std::vector<Endpoint> values, indices;
  for (const GradientAndVariable& g : parts) values.push_back(g.gradient), indices.push_back(g.indices);
  if (!mean.is_slices()) {
    mean.gradient = add_mean(a.edit, values, total, {}, device);
    return mean;
  }
  const Endpoint axis = a.edit.constant("concat/axis", scalar_of(DType::kInt32, 0), {}, device);
  values.push_back(axis), indices.push_back(axis);
  mean.gradient = add_mean(a.edit, {add_op(a.edit, "concat", "ConcatV2", values, device)}, total, {}, device);
  mean.indices = add_op(a.edit, "concat", "ConcatV2", indices, device);
  return mean;
}

void clip_gradients(Assembly& a, std::vector<GradientAndVariable>& gradients, const std::string& device) {
  if (!a.request.clip_norm) return;
  GraphEditor& edit = a.edit;
  const std::string scope = "clip_by_global_norm/";
  Endpoint norm = add_global_norm(edit, gradients, device);
  const DType type = edit.type(norm);
  auto number = [&](std::string_view name, double value) {
    return edit.constant(cat(scope, name), scalar_of(type, value), {}, device);
  };
  auto op = [&](std::string_view name, std::string_view kind, std::vector<Endpoint> inputs) {
    return add_op(edit, cat(scope, name), std::string(kind), std::move(inputs), device);
  };
  Endpoint inverse = op("truediv", "RealDiv", {number("truediv/x", 1), norm});
  Endpoint inverse_bound = op("truediv", "RealDiv", {number("Const", 1), number("truediv_1/y", *a.request.clip_norm)});
  Endpoint least = op("Minimum", "Minimum", {inverse, inverse_bound});
  Endpoint finite_scale = op("mul", "Mul", {number("mul/x", *a.request.clip_norm), least});
  // norm - norm is 0, or NaN where the norm is not finite: then so is the scale.
  Endpoint scale = op("add", "AddV2", {finite_scale, op("sub", "Sub", {norm, norm})});
  for (size_t i = 0; i < gradients.size(); ++i) {
    Endpoint& g = gradients[i].gradient;
    const std::vector<NodeId> with = {g.node};
    Endpoint clipped = edit.add_output(
        {.name = cat(scope, "mul"), .op = "Mul", .inputs = {g, scale}, .device = device, .colocate_with = with});
    g = edit.add_output({.name = cat(scope, "clip_by_global_norm/_", i),
                         .op = "Identity",
                         .inputs = {clipped},
                         .device = device,
                         .colocate_with = with});
  }
}

Result<Pace> set_pace(Assembly& a, const std::string& device) {
  Pace pace;
  const LearningRate& rate = a.request.learning_rate;
  if (!rate.tensor.empty()) {
    NameError error;
    pace.learning_rate = find_tensor(a.edit.graph(), rate.tensor, error);
    if (pace.learning_rate.node == kNoNode) return invalid_argument(cat("learning_rate: ", error.text()));
    const Shape& shape = a.edit.shape(pace.learning_rate);
    if (!is_floating(base_type(a.edit.type(pace.learning_rate))) || !shape.compatible_with(Shape{})) {
      return invalid_argument(cat("learning_rate: '", rate.tensor, "' is not a floating-point number"));
    }
  }
  if (!needs_global_step(rate)) return pace;
  const NodeId own = a.edit.graph().find("global_step");
  if (own != kNoNode && a.edit.graph().traits(own).variable &&
      a.edit.graph().attrs(own).type("dtype") == DType::kInt64) {
    pace.global_step.variable = own;
    pace.global_step.resource = a.edit.graph().output_type({own, 0}) == DType::kResource;
    pace.global_step.read =
        pace.global_step.resource ? Endpoint{} : Endpoint{a.edit.graph().find("global_step/read"), 0};
    if (pace.global_step.read.node == kNoNode) pace.global_step.read = pace.global_step.handle();
  } else {
    pace.global_step = add_scalar_variable(a.edit, free_name(a.edit, "global_step"), scalar_of(DType::kInt64, 0),
                                           a.variables.front().resource, {}, device);
    a.initializers.push_back(pace.global_step.assign);
  }
  pace.learning_rate = add_schedule(a.edit, rate, pace.global_step, device);
  return pace;
}

std::vector<Endpoint> step_tensors(const Assembly& a) {
  std::vector<Endpoint> out = {a.out.loss};
  for (const auto& [name, tensor] : a.out.metrics) out.push_back(tensor);
  return out;
}

void add_tower_tensors(Assembly& a, Tower& tower, const Replacements& instead) {
  const std::vector<Endpoint> copies = add_tower(a.edit, step_tensors(a), tower.scope, tower.device, instead);
  tower.loss = copies.front();
  tower.metrics.assign(copies.begin() + 1, copies.end());
}

void mean_over_towers(Assembly& a, const std::vector<Tower>& towers, Endpoint total, const std::string& device) {
  auto mean = [&](size_t which, auto value_of) {
    std::vector<Endpoint> values;
    values.reserve(towers.size());
    for (const Tower& t : towers) values.push_back(value_of(t));
    return add_mean_over_towers(a.edit, towers, values, which, total, device);
  };
  a.out.loss = mean(0, [](const Tower& t) { return t.loss; });
  for (size_t i = 0; i < a.out.metrics.size(); ++i)
    a.out.batch_metrics[i] = mean(i + 1, [i](const Tower& t) { return t.metrics[i]; });
}

Status train_on_one_device(Assembly& a) {
  ASSIGN_OR_RETURN(auto gradients, gradients_of(a, a.out.loss, a.variables, {}));
  clip_gradients(a, gradients, {});
  ASSIGN_OR_RETURN(Pace pace, set_pace(a, {}));
  OptimizerState state = add_optimizer_state(a.edit, a.request, a.rule, a.variables);
  for (const VariableNodes& v : state.all()) a.initializers.push_back(v.assign);
  UpdatePlace place{.scope = free_name(a.edit, "train"),
                    .device = {},
                    .learning_rate = pace.learning_rate,
                    .global_step = pace.counted()};
  a.out.targets = {add_update(a.edit, a.request, a.rule, state, gradients, place)};
  return ok_status();
}

}  // namespace emplace
