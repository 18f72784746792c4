// Part of core/train/optimizers/optimizer_list.h: adamw: Keras' Adam with decay of the weights: not an addend of the
// gradient, but a share of each weight.
#include "core/train/optimizers/optimizer.h"

namespace emplace {
namespace {

UpdateRule adamw_rule(const OptimizerArguments&) {
  UpdateRule r;
  r.op = "ApplyAdam";
  r.slots = {{"momentum", "momentum", "zeros"}, {"velocity", "velocity", "zeros"}};
  r.powers = {{"beta_1_power", "beta_1"}, {"beta_2_power", "beta_2"}};
  r.constants = {"weight_decay", "beta_1", "beta_2", "epsilon"};
  r.operands = {"variable",      "momentum", "velocity", "beta_1_power", "beta_2_power",
                "learning_rate", "beta_1",   "beta_2",   "epsilon",      "gradient"};
  r.is_keras = true;
  return r;
}

}  // namespace

Optimizer adamw_optimizer() {
  return {.name = "adamw",
          .learning_rate = 0.001,
          .arguments = {{"weight_decay", 0.004}, {"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}},
          .rule = adamw_rule};
}

}  // namespace emplace
