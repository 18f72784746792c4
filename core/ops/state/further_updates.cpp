// Adadelta, AdaMax, Adam with AMSGrad, AdagradDA, AddSign, PowerSign, proximal descent and Adagrad, Keras' momentum of
// rows: the Apply... and SparseApply... ops and their Resource forms.
#include "core/ops/state/update_formulas.h"
#include "core/ops/state/variable_update.h"

namespace emplace {
namespace {

/// Dual averaging: the variable is what would have been best for all gradients so far.
template <class T>
struct AdagradDA {
  static constexpr bool kReal = true;
  static constexpr std::array kInputs{"var", "gradient_accumulator", "gradient_squared_accumulator", "grad", "lr", "l1",
                                      "l2",  "global_step"};
  static constexpr int kVariables = 3, kGradient = 3;
  static constexpr std::string_view kFlag = "";
  T lr, l1, l2, step;
  EMPLACE_INLINE AdagradDA(const T* s, bool) : lr(s[0]), l1(s[1]), l2(s[2]), step(s[3]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& sum, T& squares) const {
    sum += g;
    squares += g * g;
    const T size = sum < T(0) ? -sum : sum;
    const T left = l1 > T(0) ? sign_of(sum) * larger(size - step * l1, T(0)) : sum;
    var = lr * -left / (l2 * (step * lr) + square_root(squares));
  }
};

/// Of rows TensorFlow divides by the step first.
template <class T>
struct SparseAdagradDA : AdagradDA<T> {
  using AdagradDA<T>::AdagradDA;
  static constexpr std::array kInputs{
      "var", "gradient_accumulator", "gradient_squared_accumulator", "grad", "indices", "lr", "l1",
      "l2",  "global_step"};
  static constexpr int kIndices = 4;
  EMPLACE_INLINE void operator()(T g, T& var, T& sum, T& squares) const {
    sum += g;
    squares += g * g;
    const T size = (sum < T(0) ? -sum : sum) / this->step;
    const T left = this->l1 > T(0) ? sign_of(sum) * larger(size - this->l1, T(0)) : sum / this->step;
    var = -left / (this->l2 + square_root(squares) / (this->step * this->lr));
  }
};

/// What TensorFlow refuses of Adagrad's form; of the other it takes any numbers.
template <class T>
std::string_view refused(const T* s) {
  if (!(s[0] > T(0))) return "lr is not a positive scalar";
  if (!(s[1] >= T(0))) return "l1 regularization strength is not a non-negative scalar";
  if (!(s[2] >= T(0))) return "l2 regularization strength is not a non-negative scalar";
  return {};
}

template <class T>
struct CheckedProximalAdagrad : ProximalAdagrad<T> {
  using ProximalAdagrad<T>::ProximalAdagrad;
  static std::string_view refuse(const T* s, bool) { return refused(s); }
};

template <class T>
struct SparseProximalAdagrad : ProximalAdagrad<T> {
  using ProximalAdagrad<T>::ProximalAdagrad;
  static constexpr std::array kInputs{"var", "accum", "lr", "l1", "l2", "grad", "indices"};
  static constexpr int kIndices = 6;
  static std::string_view refuse(const T* s, bool) { return refused(s); }
};

template <class T>
struct SparseProximalDescent : ProximalDescent<T> {
  using ProximalDescent<T>::ProximalDescent;
  static constexpr std::array kInputs{"var", "alpha", "l1", "l2", "grad", "indices"};
  static constexpr int kIndices = 5;
};

template <class T>
struct SparseAdadelta : Adadelta<T> {
  using Adadelta<T>::Adadelta;
  static constexpr std::array kInputs{"var", "accum", "accum_update", "lr", "rho", "epsilon", "grad", "indices"};
  static constexpr int kIndices = 7;
};

template <class T>
struct SparseKerasMomentum : KerasMomentum<T> {
  using KerasMomentum<T>::KerasMomentum;
  static constexpr std::array kInputs{"var", "accum", "lr", "grad", "indices", "momentum"};
  static constexpr int kIndices = 4;
};

constexpr DTypeSet kSingles{DType::kFloat, DType::kDouble}, kWithHalf = kSingles | DTypeSet{DType::kHalf};

constexpr std::string_view kAdadeltaDoc =
    "accum = rho accum + (1 - rho) grad^2; u = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad; "
    "accum_update = rho accum_update + (1 - rho) u^2; var -= lr * u.";
constexpr std::string_view kAdaMaxDoc =
    "m += (grad - m) (1 - beta1); v = max(beta2 v, |grad|); var -= lr / (1 - beta1_power) * m / (v + epsilon).";
constexpr std::string_view kAmsgradDoc = "Adam with the largest v so far, vhat, in the place of v.";
constexpr std::string_view kAdagradDADoc =
    "g += grad; gg += grad^2; var = -sign(g) lr max(|g| - l1 step, 0) / (l2 step lr + sqrt(gg)).";
constexpr std::string_view kAddSignDoc =
    "m = beta m + (1 - beta) grad; var -= lr (alpha + sign_decay sign(grad) sign(m)) grad.";
constexpr std::string_view kPowerSignDoc =
    "m = beta m + (1 - beta) grad; var -= lr exp(logbase sign_decay sign(grad) sign(m)) grad.";
constexpr std::string_view kProximalDoc =
    "p = var - alpha delta; var = sign(p) max(|p| - alpha l1, 0) / (1 + alpha l2).";
constexpr std::string_view kProximalAdagradDoc =
    "accum += grad^2; then as ApplyProximalGradientDescent with the rate lr / sqrt(accum).";
constexpr std::string_view kSparseAdadeltaDoc =
    "ApplyAdadelta for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kSparseAdagradDADoc =
    "ApplyAdagradDA for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kSparseProximalDoc =
    "ApplyProximalGradientDescent for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kSparseProximalAdagradDoc =
    "ApplyProximalAdagrad for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kSparseKerasDoc =
    "ResourceApplyKerasMomentum for the rows that indices name, one after the other; the others stay.";

}  // namespace

OpDef apply_adadelta_op() { return update_op<Adadelta>("ApplyAdadelta", kAdadeltaDoc); }
OpDef apply_ada_max_op() { return update_op<AdaMax>("ApplyAdaMax", kAdaMaxDoc, kWithHalf); }
OpDef apply_adagrad_da_op() { return update_op<AdagradDA>("ApplyAdagradDA", kAdagradDADoc, kSingles); }
OpDef apply_add_sign_op() { return update_op<AddSign>("ApplyAddSign", kAddSignDoc, kFloating); }
OpDef apply_power_sign_op() { return update_op<PowerSign>("ApplyPowerSign", kPowerSignDoc, kFloating); }
OpDef apply_proximal_adagrad_op() {
  return update_op<CheckedProximalAdagrad>("ApplyProximalAdagrad", kProximalAdagradDoc, kSingles);
}
OpDef apply_proximal_gradient_descent_op() {
  return update_op<ProximalDescent>("ApplyProximalGradientDescent", kProximalDoc, kSingles);
}

OpDef resource_apply_adadelta_op() { return update_op<Adadelta>("ResourceApplyAdadelta", kAdadeltaDoc); }
OpDef resource_apply_ada_max_op() { return update_op<AdaMax>("ResourceApplyAdaMax", kAdaMaxDoc, kWithHalf); }
OpDef resource_apply_adagrad_da_op() { return update_op<AdagradDA>("ResourceApplyAdagradDA", kAdagradDADoc, kSingles); }
OpDef resource_apply_adam_with_amsgrad_op() {
  return update_op<AdamWithAmsgrad>("ResourceApplyAdamWithAmsgrad", kAmsgradDoc, kFloating);
}
OpDef resource_apply_add_sign_op() { return update_op<AddSign>("ResourceApplyAddSign", kAddSignDoc, kFloating); }
OpDef resource_apply_power_sign_op() {
  return update_op<PowerSign>("ResourceApplyPowerSign", kPowerSignDoc, kFloating);
}
OpDef resource_apply_proximal_adagrad_op() {
  return update_op<CheckedProximalAdagrad>("ResourceApplyProximalAdagrad", kProximalAdagradDoc, kSingles);
}
OpDef resource_apply_proximal_gradient_descent_op() {
  return update_op<ProximalDescent>("ResourceApplyProximalGradientDescent", kProximalDoc, kSingles);
}

OpDef sparse_apply_adadelta_op() { return update_op<SparseAdadelta>("SparseApplyAdadelta", kSparseAdadeltaDoc); }
OpDef sparse_apply_adagrad_da_op() {
  return update_op<SparseAdagradDA>("SparseApplyAdagradDA", kSparseAdagradDADoc, kSingles);
}
OpDef sparse_apply_proximal_adagrad_op() {
  return update_op<SparseProximalAdagrad>("SparseApplyProximalAdagrad", kSparseProximalAdagradDoc, kSingles);
}
OpDef sparse_apply_proximal_gradient_descent_op() {
  return update_op<SparseProximalDescent>("SparseApplyProximalGradientDescent", kSparseProximalDoc, kSingles);
}

OpDef resource_sparse_apply_adadelta_op() {
  return update_op<SparseAdadelta>("ResourceSparseApplyAdadelta", kSparseAdadeltaDoc);
}
OpDef resource_sparse_apply_adagrad_da_op() {
  return update_op<SparseAdagradDA>("ResourceSparseApplyAdagradDA", kSparseAdagradDADoc, kSingles);
}
OpDef resource_sparse_apply_keras_momentum_op() {
  return update_op<SparseKerasMomentum>("ResourceSparseApplyKerasMomentum", kSparseKerasDoc);
}
OpDef resource_sparse_apply_proximal_adagrad_op() {
  return update_op<SparseProximalAdagrad>("ResourceSparseApplyProximalAdagrad", kSparseProximalAdagradDoc, kSingles);
}
OpDef resource_sparse_apply_proximal_gradient_descent_op() {
  return update_op<SparseProximalDescent>("ResourceSparseApplyProximalGradientDescent", kSparseProximalDoc, kSingles);
}

}  // namespace emplace
