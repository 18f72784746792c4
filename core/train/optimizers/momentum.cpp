// Part of core/train/optimizers/optimizer_list.h: momentum: gradients of earlier steps go on, with a share that falls.
#include "core/train/optimizers/row_update.h"

namespace emplace {
namespace {

Endpoint momentum_rows_step(RowUpdate& u) {
  const Endpoint rate = u.operand("learning_rate"), momentum = u.operand("momentum");
  const Endpoint accumulator = u.add(u.mul(u.slot("accumulator"), momentum), u.gradient());
  u.set_slot("accumulator", accumulator);
  if (!u.flag("use_nesterov")) return u.mul(accumulator, rate);
  return u.add(u.mul(u.gradient(), rate), u.mul(u.mul(accumulator, momentum), rate));
}

UpdateRule momentum_rule(const OptimizerArguments& arguments) {
  UpdateRule r;
  r.op = "ApplyMomentum";
  r.slots = {{"accumulator", "Momentum", "zeros"}};
  r.constants = {"momentum"};
  r.operands = {"variable", "accumulator", "learning_rate", "gradient", "momentum"};
  r.flags = {{"use_nesterov", arguments.flag("use_nesterov")}};
  r.rows_step = momentum_rows_step;
  return r;
}

}  // namespace

Optimizer momentum_optimizer() {
  return {.name = "momentum",
          .learning_rate = std::nullopt,
          .arguments = {{"momentum", std::nullopt}, {"use_nesterov", 0, true}},
          .rule = momentum_rule};
}

}  // namespace emplace
