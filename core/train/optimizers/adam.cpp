// Part of core/train/optimizers/optimizer_list.h: adam: steps in units of the gradient's own size, from running means
// of it and of its square.
#include "core/train/optimizers/optimizer.h"

namespace emplace {
namespace {

UpdateRule adam_rule(const OptimizerArguments&) {
  UpdateRule r;
  r.op = "ApplyAdam";
  r.slots = {{"m", "Adam", "zeros"}, {"v", "Adam", "zeros"}};
  r.powers = {{"beta1_power", "beta1"}, {"beta2_power", "beta2"}};
  r.constants = {"beta1", "beta2", "epsilon"};
  r.operands = {"variable",      "m",     "v",     "beta1_power", "beta2_power",
                "learning_rate", "beta1", "beta2", "epsilon",     "gradient"};
  return r;
}

}  // namespace

Optimizer adam_optimizer() {
  return {.name = "adam",
          .learning_rate = 0.001,
          .arguments = {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}},
          .rule = adam_rule};
}

}  // namespace emplace
