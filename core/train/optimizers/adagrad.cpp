// Part of core/train/optimizers/optimizer_list.h: adagrad: steps shrink with the sum of the squares of all gradients so
// far.
#include "core/train/optimizers/optimizer.h"

namespace emplace {
namespace {

UpdateRule adagrad_rule(const OptimizerArguments& arguments) {
  UpdateRule r;
  r.op = "ApplyAdagrad";
  r.rows_op = "SparseApplyAdagrad";
  r.slots = {{"accumulator", "Adagrad", kConstantInitializer, arguments.number("initial_accumulator_value")}};
  r.operands = {"variable", "accumulator", "learning_rate", "gradient"};
  return r;
}

}  // namespace

Optimizer adagrad_optimizer() {
  return {.name = "adagrad",
          .learning_rate = std::nullopt,
          .arguments = {{"initial_accumulator_value", 0.1}},
          .rule = adagrad_rule};
}

}  // namespace emplace
