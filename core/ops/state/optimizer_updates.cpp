// The Apply... ops of optimizers and their Resource forms.
#include "core/ops/state/update_formulas.h"
#include "core/ops/state/variable_update.h"

namespace emplace {
namespace {

constexpr std::string_view kDescentDoc = "var -= alpha * delta.";
constexpr std::string_view kMomentumDoc =
    "accum = accum * momentum + grad; var -= lr * accum, or with use_nesterov lr * (grad + momentum * accum).";
constexpr std::string_view kKerasMomentumDoc =
    "accum = accum * momentum - lr * grad; var += accum, or with use_nesterov momentum * accum - lr * grad.";
constexpr std::string_view kAdamDoc =
    "m += (grad - m) (1 - beta1); v += (grad^2 - v) (1 - beta2); "
    "var -= lr sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon).";
constexpr std::string_view kAdagradDoc = "accum += grad^2 (with update_slots); var -= lr * grad / sqrt(accum).";
constexpr std::string_view kAdagradV2Doc =
    "accum += grad^2 (with update_slots); var -= lr * grad / (sqrt(accum) + epsilon).";
constexpr std::string_view kRmsPropDoc =
    "ms += (grad^2 - ms) (1 - rho); mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom.";
constexpr std::string_view kCenteredRmsPropDoc =
    "RMSProp with the variance ms - mg^2 in place of ms, where mg += (grad - mg) (1 - rho).";

}  // namespace

OpDef apply_gradient_descent_op() { return update_op<GradientDescent>("ApplyGradientDescent", kDescentDoc); }
OpDef apply_momentum_op() { return update_op<Momentum>("ApplyMomentum", kMomentumDoc); }
OpDef apply_adam_op() { return update_op<Adam>("ApplyAdam", kAdamDoc); }
OpDef apply_adagrad_op() { return update_op<Adagrad>("ApplyAdagrad", kAdagradDoc); }
OpDef apply_adagrad_v2_op() { return update_op<AdagradV2>("ApplyAdagradV2", kAdagradV2Doc); }
OpDef apply_rms_prop_op() { return update_op<RmsProp>("ApplyRMSProp", kRmsPropDoc); }
OpDef apply_centered_rms_prop_op() { return update_op<CenteredRmsProp>("ApplyCenteredRMSProp", kCenteredRmsPropDoc); }

OpDef resource_apply_gradient_descent_op() {
  return update_op<GradientDescent>("ResourceApplyGradientDescent", kDescentDoc);
}
OpDef resource_apply_momentum_op() { return update_op<Momentum>("ResourceApplyMomentum", kMomentumDoc); }
OpDef resource_apply_keras_momentum_op() {
  return update_op<KerasMomentum>("ResourceApplyKerasMomentum", kKerasMomentumDoc);
}
OpDef resource_apply_adam_op() { return update_op<Adam>("ResourceApplyAdam", kAdamDoc); }
OpDef resource_apply_adagrad_op() { return update_op<Adagrad>("ResourceApplyAdagrad", kAdagradDoc); }
OpDef resource_apply_adagrad_v2_op() { return update_op<AdagradV2>("ResourceApplyAdagradV2", kAdagradV2Doc); }
OpDef resource_apply_rms_prop_op() { return update_op<RmsProp>("ResourceApplyRMSProp", kRmsPropDoc); }
OpDef resource_apply_centered_rms_prop_op() {
  return update_op<CenteredRmsProp>("ResourceApplyCenteredRMSProp", kCenteredRmsPropDoc);
}

}  // namespace emplace
