// Part of core/train/optimizers/optimizer_list.h: ftrl: follow the regularised leader: small weights become 0.
#include "core/train/optimizers/optimizer.h"

namespace emplace {
namespace {

UpdateRule ftrl_rule(const OptimizerArguments& arguments) {
  const bool shrinks = arguments.number("l2_shrinkage_regularization_strength") != 0;
  UpdateRule r;
  r.op = shrinks ? "ApplyFtrlV2" : "ApplyFtrl";
  r.rows_op = shrinks ? "SparseApplyFtrlV2" : "SparseApplyFtrl";
  r.slots = {{"accumulator", "Ftrl", kConstantInitializer, arguments.number("initial_accumulator_value")},
             {"linear", "Ftrl", "zeros"}};
  r.constants = {"l1_regularization_strength", "l2_regularization_strength", "l2_shrinkage_regularization_strength",
                 "learning_rate_power"};
  r.operands = {"variable",
                "accumulator",
                "linear",
                "gradient",
                "learning_rate",
                "l1_regularization_strength",
                "l2_regularization_strength"};
  if (shrinks) r.operands.push_back("l2_shrinkage_regularization_strength");
  r.operands.push_back("learning_rate_power");
  return r;
}

}  // namespace

Optimizer ftrl_optimizer() {
  return {.name = "ftrl",
          .learning_rate = std::nullopt,
          .arguments = {{"learning_rate_power", -0.5},
                        {"initial_accumulator_value", 0.1},
                        {"l1_regularization_strength", 0},
                        {"l2_regularization_strength", 0},
                        {"l2_shrinkage_regularization_strength", 0}},
          .rule = ftrl_rule};
}

}  // namespace emplace
