// Part of core/formats/onnx/op_table.h: the optimizers of ai.onnx.preview.training. Inputs are a rate, the number of
// steps so far, then all weights, all gradients and all of each kind of state; outputs are what weights and states
// become.
#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

/// What of the node is about one weight.
struct OptimizerPart {
  Endpoint weight, gradient;
  Endpoints states;
};

std::vector<OptimizerPart> optimizer_parts(OnnxBlock& b, size_t states) {
  const size_t lists = 2 + states;
  if (b.num_inputs() < 2 + lists || (b.num_inputs() - 2) % lists != 0)
    return b.fail(cat("inputs that are not rate, step and ", lists, " lists of equal length")),
           std::vector<OptimizerPart>();
  const size_t count = (b.num_inputs() - 2) / lists;
  std::vector<OptimizerPart> parts(count);
  for (size_t i = 0; i < count; ++i) {
    OptimizerPart& p = parts[i];
    p.weight = b.input(2 + i);
    const Endpoint decay = b.mul(b.like(p.weight, b.number("norm_coefficient", 0)), p.weight);
    p.gradient = b.add(decay, b.input(2 + count + i));
    for (size_t s = 0; s < states; ++s) p.states.push_back(b.input(2 + (2 + s) * count + i));
  }
  return parts;
}

/// All weights, then all of each state.
Endpoints in_lists(const std::vector<Endpoints>& made) {
  Endpoints out;
  for (size_t k = 0; !made.empty() && k < made[0].size(); ++k) {
    for (const Endpoints& of_weight : made) out.push_back(of_weight[k]);
  }
  return out;
}

/// old * keep + now * take.
Endpoint mixed(OnnxBlock& b, Endpoint old, double keep, Endpoint now, double take) {
  return b.add(b.mul(b.like(old, keep), old), b.mul(b.like(now, take), now));
}

/// `first` in the first step, else `later`.
Endpoint by_step(OnnxBlock& b, Endpoint first, Endpoint later) {
  return b.select(b.make("Greater", {b.input(1), b.int64(0)}), later, first);
}

Endpoints adagrad(OnnxBlock& b) {
  std::vector<Endpoints> made;
  for (const OptimizerPart& p : optimizer_parts(b, 1)) {
    const Endpoint rate = b.cast(b.input(0), b.type(p.weight)), steps = b.cast(b.input(1), b.type(p.weight));
    const Endpoint one = b.like(p.weight, 1);
    const Endpoint lowered = b.div(rate, b.add(one, b.mul(steps, b.like(p.weight, b.number("decay_factor", 0)))));
    const Endpoint sum = b.add(p.states[0], b.mul(p.gradient, p.gradient));
    const Endpoint by = b.add(b.math("Sqrt", {sum}), b.like(sum, b.number("epsilon", 0)));
    made.push_back({b.sub(p.weight, b.div(b.mul(lowered, p.gradient), by)), sum});
  }
  return in_lists(made);
}

Endpoints adam(OnnxBlock& b) {
  const double alpha = b.number("alpha", 0.9F), beta = b.number("beta", 0.999F);
  std::vector<Endpoints> made;
  for (const OptimizerPart& p : optimizer_parts(b, 2)) {
    const Endpoint rate = b.cast(b.input(0), b.type(p.weight)), steps = b.cast(b.input(1), b.type(p.weight));
    const Endpoint mean = mixed(b, p.states[0], alpha, p.gradient, 1 - alpha);
    const Endpoint square = mixed(b, p.states[1], beta, b.mul(p.gradient, p.gradient), 1 - beta);
    const Endpoint by = b.add(b.math("Sqrt", {square}), b.like(square, b.number("epsilon", 0)));
    const auto left = [&](double keep) { return b.sub(b.like(steps, 1), b.math("Pow", {b.like(steps, keep), steps})); };
    const Endpoint raised = b.div(b.mul(rate, b.math("Sqrt", {left(beta)})), left(alpha));
    const Endpoint weight = b.sub(p.weight, b.div(b.mul(by_step(b, rate, raised), mean), by));
    const double kept = 1 - static_cast<double>(b.number("norm_coefficient_post", 0));
    made.push_back({b.mul(b.like(weight, kept), weight), mean, square});
  }
  return in_lists(made);
}

Endpoints momentum(OnnxBlock& b) {
  const std::string mode = b.text("mode", "");
  if (mode != "standard" && mode != "nesterov") return {b.fail(cat("mode '", mode, "'"), "standard or nesterov")};
  const double alpha = b.number("alpha", 0), beta = b.number("beta", 0);
  std::vector<Endpoints> made;
  for (const OptimizerPart& p : optimizer_parts(b, 1)) {
    const Endpoint rate = b.cast(b.input(0), b.type(p.weight));
    const Endpoint share = by_step(b, b.like(p.weight, 1), b.like(p.weight, beta));
    const Endpoint kept = b.mul(b.like(p.weight, alpha), p.states[0]);
    const Endpoint speed = b.add(kept, b.mul(share, p.gradient));
    const Endpoint ahead = mode == "standard" ? speed : b.add(p.gradient, b.mul(b.like(p.weight, alpha), speed));
    made.push_back({b.sub(p.weight, b.mul(rate, ahead)), speed});
  }
  return in_lists(made);
}

constexpr OnnxOp kOptimizerOps[] = {
    {"ai.onnx.preview.training.Adagrad", 1, adagrad},
    {"ai.onnx.preview.training.Adam", 1, adam},
    {"ai.onnx.preview.training.Momentum", 1, momentum},
};

}  // namespace

std::span<const OnnxOp> onnx_optimizer_ops() { return kOptimizerOps; }

}  // namespace emplace
