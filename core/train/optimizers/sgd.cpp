// Part of core/train/optimizers/optimizer_list.h: sgd: stochastic gradient descent: the gradient times the learning
// rate goes off.
#include "core/train/optimizers/optimizer.h"

namespace emplace {
namespace {

UpdateRule sgd_rule(const OptimizerArguments&) {
  UpdateRule r;
  r.op = "ApplyGradientDescent";
  r.operands = {"variable", "learning_rate", "gradient"};
  return r;
}

}  // namespace

Optimizer sgd_optimizer() { return {.name = "sgd", .learning_rate = std::nullopt, .arguments = {}, .rule = sgd_rule}; }

}  // namespace emplace
