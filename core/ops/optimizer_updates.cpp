// What optimizers do to a variable and its slots, in TensorFlow's order of operations
// (tensorflow/core/kernels/training_ops.cc): the Apply... ops and their Resource forms.
#include "core/ops/variable_update.h"

namespace emplace {
namespace {

template <class T>
EMPLACE_INLINE T square_root(T x) { return std::sqrt(x); }

template <class T>
struct GradientDescent {
  static constexpr std::array kInputs{"var", "alpha", "delta"};
  static constexpr int kVariables = 1, kGradient = 2;
  static constexpr std::string_view kFlag = "";
  T alpha;
  GradientDescent(const T* s, bool) : alpha(s[0]) {}
  EMPLACE_INLINE void operator()(T g, T& var) const { var -= g * alpha; }
};

template <class T>
struct Momentum {
  static constexpr std::array kInputs{"var", "accum", "lr", "grad", "momentum"};
  static constexpr int kVariables = 2, kGradient = 3;
  static constexpr std::string_view kFlag = "use_nesterov";
  T lr, momentum;
  bool nesterov;
  Momentum(const T* s, bool flag) : lr(s[0]), momentum(s[1]), nesterov(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum = accum * momentum + g;
    var -= nesterov ? g * lr + accum * momentum * lr : accum * lr;
  }
};

// Keras keeps the rate inside the accumulator.
template <class T>
struct KerasMomentum : Momentum<T> {
  using Momentum<T>::Momentum;
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum = accum * this->momentum - g * this->lr;
    var += this->nesterov ? accum * this->momentum - g * this->lr : accum;
  }
};

// epsilon is added after the bias correction went into the rate.
template <class T>
struct Adam {
  static constexpr std::array kInputs{"var", "m",     "v",     "beta1_power", "beta2_power",
                                      "lr",  "beta1", "beta2", "epsilon",     "grad"};
  static constexpr int kVariables = 3, kGradient = 9;
  static constexpr std::string_view kFlag = "use_nesterov";
  T alpha, beta1, keep1, keep2, epsilon;
  bool nesterov;
  Adam(const T* s, bool flag)
      : alpha(s[2] * square_root(T(1) - s[1]) / (T(1) - s[0])), beta1(s[3]), keep1(T(1) - s[3]), keep2(T(1) - s[4]),
        epsilon(s[5]), nesterov(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& m, T& v) const {
    m += (g - m) * keep1;
    v += (g * g - v) * keep2;
    const T step = nesterov ? g * keep1 + beta1 * m : m;
    var -= step * alpha / (square_root(v) + epsilon);
  }
};

template <class T>
struct Adagrad {
  static constexpr std::array kInputs{"var", "accum", "lr", "grad"};
  static constexpr int kVariables = 2, kGradient = 3;
  static constexpr std::string_view kFlag = "update_slots";
  T lr;
  bool update_slots;
  Adagrad(const T* s, bool flag) : lr(s[0]), update_slots(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum += update_slots ? g * g : T(0);
    var -= g * lr / square_root(accum);
  }
};

template <class T>
struct AdagradV2 {
  static constexpr std::array kInputs{"var", "accum", "lr", "epsilon", "grad"};
  static constexpr int kVariables = 2, kGradient = 4;
  static constexpr std::string_view kFlag = "update_slots";
  T lr, epsilon;
  bool update_slots;
  AdagradV2(const T* s, bool flag) : lr(s[0]), epsilon(s[1]), update_slots(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum += update_slots ? g * g : T(0);
    var -= g * lr / (square_root(accum) + epsilon);
  }
};

template <class T>
struct RmsProp {
  static constexpr std::array kInputs{"var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"};
  static constexpr int kVariables = 3, kGradient = 7;
  static constexpr std::string_view kFlag = "";
  T lr, keep, momentum, epsilon;
  RmsProp(const T* s, bool) : lr(s[0]), keep(T(1) - s[1]), momentum(s[2]), epsilon(s[3]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& ms, T& mom) const {
    ms += (g * g - ms) * keep;
    mom = mom * momentum + g * lr / square_root(ms + epsilon);
    var -= mom;
  }
};

template <class T>
struct CenteredRmsProp {
  static constexpr std::array kInputs{"var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"};
  static constexpr int kVariables = 4, kGradient = 8;
  static constexpr std::string_view kFlag = "";
  T lr, keep, momentum, epsilon;
  CenteredRmsProp(const T* s, bool) : lr(s[0]), keep(T(1) - s[1]), momentum(s[2]), epsilon(s[3]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& mg, T& ms, T& mom) const {
    ms += (g * g - ms) * keep;
    mg += (g - mg) * keep;
    mom = mom * momentum + g * lr / square_root(ms - mg * mg + epsilon);
    var -= mom;
  }
};

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

OpDef resource_apply_gradient_descent_op() { return update_op<GradientDescent>("ResourceApplyGradientDescent", kDescentDoc); }
OpDef resource_apply_momentum_op() { return update_op<Momentum>("ResourceApplyMomentum", kMomentumDoc); }
OpDef resource_apply_keras_momentum_op() { return update_op<KerasMomentum>("ResourceApplyKerasMomentum", kKerasMomentumDoc); }
OpDef resource_apply_adam_op() { return update_op<Adam>("ResourceApplyAdam", kAdamDoc); }
OpDef resource_apply_adagrad_op() { return update_op<Adagrad>("ResourceApplyAdagrad", kAdagradDoc); }
OpDef resource_apply_adagrad_v2_op() { return update_op<AdagradV2>("ResourceApplyAdagradV2", kAdagradV2Doc); }
OpDef resource_apply_rms_prop_op() { return update_op<RmsProp>("ResourceApplyRMSProp", kRmsPropDoc); }
OpDef resource_apply_centered_rms_prop_op() { return update_op<CenteredRmsProp>("ResourceApplyCenteredRMSProp", kCenteredRmsPropDoc); }

}  // namespace emplace
