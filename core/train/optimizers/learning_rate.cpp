#include "core/train/optimizers/learning_rate.h"

#include <numbers>

#include "core/base/cat.h"

namespace emplace {
namespace {

/// Arithmetic on scalars, as nodes of one scope.
class ScheduleNodes {
 public:
  ScheduleNodes(GraphEditor& edit, const LearningRate& rate, const std::string& scope, std::string device)
      : edit_(edit), rate_(rate), scope_(free_name(edit, scope)), device_(std::move(device)) {}

  Endpoint exponential(Endpoint step) {
    Endpoint initial = number("initial_learning_rate", given("initial_learning_rate"));
    Endpoint steps = number("decay_steps", given("decay_steps")), base = number("decay_rate", given("decay_rate"));
    Endpoint power = op("truediv", "RealDiv", {step, steps});
    if (given("staircase", 0) != 0) power = op("Floor", "Floor", {power});
    return result(op("Pow", "Pow", {base, power}), initial);
  }

  Endpoint cosine(Endpoint step) {
    const double initial = given("initial_learning_rate"), steps = given("decay_steps");
    if (!has("warmup_target"))
      return result(decay(op("Minimum", "Minimum", {step, number("decay_steps", steps)}), steps),
                    number("initial_learning_rate", initial));
    const double target = given("warmup_target"), warmup = given("warmup_steps", 0);
    Endpoint after =
        op("sub", "Sub",
           {op("Minimum", "Minimum", {step, number("last_step", steps + warmup)}), number("warmup_steps", warmup)});
    Endpoint decayed = op("mul", "Mul", {decay(after, steps), number("warmup_target", target)});
    if (warmup <= 0) return decayed;
    Endpoint share = op("truediv", "RealDiv", {step, number("warmup_steps", warmup)});
    Endpoint rising =
        op("add", "AddV2",
           {op("mul", "Mul", {share, number("rise", target - initial)}), number("initial_learning_rate", initial)});
    Endpoint is_rising = op("Less", "Less", {step, number("warmup_steps", warmup)});
    return op("SelectV2", "SelectV2", {is_rising, rising, decayed});
  }

  /// The value whose boundary the step has not passed yet.
  Endpoint piecewise(Endpoint step) {
    Endpoint passed = op("Greater", "Greater", {step, numbers<int64_t>("boundaries", "boundaries")});
    Endpoint ones = edit_.add_output({.name = name("Cast"),
                                      .op = "Cast",
                                      .inputs = {passed},
                                      .attrs = {{"DstT", AttrValue::of(DType::kInt32)}},
                                      .device = device_});
    Endpoint axis = edit_.constant(name("Const"), scalar_of(DType::kInt32, 0), {}, device_);
    Endpoint index = op("Sum", "Sum", {ones, axis});
    return op("GatherV2", "GatherV2", {numbers<float>("values", "values"), index, axis});
  }

  Endpoint to_float(Endpoint step) {
    return edit_.add_output({.name = name("Cast"),
                             .op = "Cast",
                             .inputs = {step},
                             .attrs = {{"DstT", AttrValue::of(DType::kFloat)}},
                             .device = device_});
  }

 private:
  /// (1 - alpha) * 0.5 * (1 + cos(pi * step / steps)) + alpha
  Endpoint decay(Endpoint step, double steps) {
    const double alpha = given("alpha", 0);
    Endpoint share = op("truediv", "RealDiv", {step, number("decay_steps", steps)});
    Endpoint angle = op("mul", "Mul", {number("pi", std::numbers::pi), share});
    Endpoint raised = op("add", "AddV2", {number("add/x", 1), op("Cos", "Cos", {angle})});
    Endpoint cosine = op("mul", "Mul", {number("mul/x", 0.5), raised});
    Endpoint part = op("mul", "Mul", {number("mul/x", 1 - alpha), cosine});
    return op("add", "AddV2", {part, number("add/y", alpha)});
  }

  Endpoint result(Endpoint factor, Endpoint initial) {
    return edit_.add_output({.name = scope_, .op = "Mul", .inputs = {initial, factor}, .device = device_});
  }

  std::string name(std::string_view last) const { return cat(scope_, "/", last); }
  Endpoint op(std::string_view last, std::string_view kind, std::vector<Endpoint> inputs) {
    return edit_.add_output(
        {.name = name(last), .op = std::string(kind), .inputs = std::move(inputs), .device = device_});
  }
  Endpoint number(std::string_view last, double value) {
    return edit_.constant(name(last), scalar_of(DType::kFloat, value), {}, device_);
  }

  template <class T>
  Endpoint numbers(std::string_view last, std::string_view argument) {
    std::vector<T> values;
    for (double v : find(argument)->values) values.push_back(static_cast<T>(v));
    return edit_.constant(name(last), Tensor::of<T>({static_cast<int64_t>(values.size())}, values), {}, device_);
  }

  const NamedNumbers* find(std::string_view argument) const {
    for (const NamedNumbers& a : rate_.arguments) {
      if (a.name == argument) return &a;
    }
    return nullptr;
  }
  bool has(std::string_view argument) const { return find(argument) != nullptr; }
  double given(std::string_view argument, double otherwise = 0) const {
    return has(argument) ? find(argument)->values.front() : otherwise;
  }

  GraphEditor& edit_;
  const LearningRate& rate_;
  std::string scope_, device_;
};

}  // namespace

bool needs_global_step(const LearningRate& rate) { return !rate.schedule.empty(); }

Endpoint add_schedule(GraphEditor& edit, const LearningRate& rate, const VariableNodes& step,
                      const std::string& device) {
  const bool exponential = rate.schedule == "exponential", cosine = rate.schedule == "cosine";
  const std::string scope = exponential ? "ExponentialDecay" : cosine ? "CosineDecay" : "PiecewiseConstant";
  ScheduleNodes schedule(edit, rate, scope, device);
  Endpoint made = step.resource ? read_now(edit, cat(scope, "/ReadVariableOp"), step.handle(), true) : step.read;
  if (exponential) return schedule.exponential(schedule.to_float(made));
  if (cosine) return schedule.cosine(schedule.to_float(made));
  return schedule.piecewise(made);
}

}  // namespace emplace
