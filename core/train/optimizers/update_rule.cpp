#include "core/train/optimizers/update_rule.h"

#include "core/base/assert.h"
#include "core/train/optimizers/row_update.h"

namespace emplace {
namespace {

UpdateRule sgd(const TrainRequest&) {
  UpdateRule r;
  r.op = "ApplyGradientDescent";
  r.operands = {"variable", "learning_rate", "gradient"};
  return r;
}

UpdateRule momentum(const TrainRequest& request) {
  UpdateRule r;
  r.op = "ApplyMomentum";
  r.slots = {{"accumulator", "Momentum", "zeros"}};
  r.constants = {"momentum"};
  r.operands = {"variable", "accumulator", "learning_rate", "gradient", "momentum"};
  r.flags = {{"use_nesterov", argument(request, "use_nesterov") != 0}};
  r.rows_step = momentum_rows_step;
  return r;
}

UpdateRule adagrad(const TrainRequest& request) {
  UpdateRule r;
  r.op = "ApplyAdagrad";
  r.rows_op = "SparseApplyAdagrad";
  r.slots = {{"accumulator", "Adagrad", "Const", argument(request, "initial_accumulator_value")}};
  r.operands = {"variable", "accumulator", "learning_rate", "gradient"};
  return r;
}

UpdateRule rmsprop(const TrainRequest& request) {
  const bool centered = argument(request, "centered") != 0;
  UpdateRule r;
  r.op = centered ? "ApplyCenteredRMSProp" : "ApplyRMSProp";
  r.slots = {{"mean_square", "RMSProp", "ones", 1}};
  if (centered) r.slots.push_back({"mean_gradient", "RMSProp", "zeros"});
  r.slots.push_back({"moment", "RMSProp", "zeros"});
  r.constants = {"decay", "momentum", "epsilon"};
  r.operands = {"variable", "mean_square", "moment", "learning_rate", "decay", "momentum", "epsilon", "gradient"};
  if (centered) r.operands.insert(r.operands.begin() + 1, "mean_gradient");
  r.rows_step = rms_prop_rows_step;
  return r;
}

UpdateRule adam(const TrainRequest&) {
  UpdateRule r;
  r.op = "ApplyAdam";
  r.slots = {{"m", "Adam", "zeros"}, {"v", "Adam", "zeros"}};
  r.powers = {{"beta1_power", "beta1"}, {"beta2_power", "beta2"}};
  r.constants = {"beta1", "beta2", "epsilon"};
  r.operands = {"variable",      "m",     "v",     "beta1_power", "beta2_power",
                "learning_rate", "beta1", "beta2", "epsilon",     "gradient"};
  return r;
}

UpdateRule adamw(const TrainRequest&) {
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

UpdateRule update_rule(const TrainRequest& request) {
  if (request.optimizer == "sgd") return sgd(request);
  if (request.optimizer == "momentum") return momentum(request);
  if (request.optimizer == "adagrad") return adagrad(request);
  if (request.optimizer == "rmsprop") return rmsprop(request);
  if (request.optimizer == "adam") return adam(request);
  EMPLACE_ASSERT(request.optimizer == "adamw",
                 "reading the request saw to it that the optimizer is one of optimizer_rows()");
  return adamw(request);
}

}  // namespace emplace
