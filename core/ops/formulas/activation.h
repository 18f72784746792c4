/// Relu and its relatives, their gradients, and the gradients of other elementwise functions. The order of operations
/// is TensorFlow's: halves round after each of them, and where one overflows the result shows it.
#pragma once

#include <cmath>

#include "core/ops/kit/formula.h"
#include "core/ops/math/selu_constants.h"

namespace EMPLACE_FORMULAS::fn {

struct Relu {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    return maximum(x, T(0));
  }
};
struct Relu6 {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    return minimum(maximum(x, T(0)), T(6));
  }
};
// exp(x) - 1, not expm1(x): near 0 digits are lost.
struct Elu : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    return x < T(0) ? exp_of(x) - T(1) : x;
  }
};
/// As elements of type T are made of them: halves are made of floats.
template <class T>
struct SeluScales {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr Wide kScale = static_cast<Wide>(kSeluScale), kScaleAlpha = static_cast<Wide>(kSeluScaleAlpha);
};
struct Selu : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    using Scales = SeluScales<T>;
    return x < T(0) ? T(Scales::kScaleAlpha) * (exp_of(x) - T(1)) : T(Scales::kScale) * x;
  }
};
/// In halves TensorFlow takes x or exp(x) itself where it holds the difference for less than its rounding.
struct Softplus : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (kIsHalf<T>) {
      // -log(2^-13) - 2, -log(2^-7) - 2
      constexpr float kThreshold = kIsBFloat16<T> ? 2.8520303f : 7.0109134f;
      const float wide = static_cast<float>(x);
      if (wide > kThreshold) return x;
      const T power = exp_of(x);
      return wide < -kThreshold ? power : T(std::log1p(static_cast<float>(power)));
    } else {
      return softplus_of(x);
    }
  }
};
struct Softsign : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    return x / (T(1) + magnitude(x));
  }
};

/// A slope of alpha, which is as the element type holds it, where the argument is not positive.
struct LeakyRelu {
  float alpha;
  template <class T>
  EMPLACE_INLINE T apply(T x) const {
    return x > 0 ? x : x * static_cast<T>(alpha);
  }
};
struct LeakyReluGrad {
  float alpha;
  template <class T>
  EMPLACE_INLINE T apply(T dy, T x) const {
    return x > 0 ? dy : dy * static_cast<T>(alpha);
  }
};
struct Prelu {
  template <class T>
  EMPLACE_INLINE static T apply(T x, T alpha) {
    return x < 0 ? alpha * x : x;
  }
};

// Of (gradient, features or outputs). TensorFlow multiplies by 0 or 1, so an infinite gradient becomes NaN where it is
// stopped.
struct ReluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    return dy * T(x > 0);
  }
};
struct Relu6Grad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    return dy * T(x > 0 && x < T(6));
  }
};
struct EluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T y) {
    return y < 0 ? (y + T(1)) * dy : dy;
  }
};
struct SeluGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T y) {
    return y < T(0) ? dy * (y + T(SeluScales<T>::kScaleAlpha)) : dy * T(SeluScales<T>::kScale);
  }
};
struct SoftplusGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    return dy / (exp_of(T(0) - x) + T(1));
  }
};
struct SoftsignGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    const T base = T(1) + magnitude(x);
    return dy / (base * base);
  }
};

// Of (output, gradient).
struct SigmoidGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    return dy * (y * (T(1) - y));
  }
};
struct TanhGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};
// The following give 0 where the gradient is 0, whatever y: SelectV2 may have kept it from a y that is infinite.
struct SqrtGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    return dy == T(0) ? T(0) : dy * (T(0.5f) / conjugate(y));
  }
};
struct RsqrtGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    const T z = conjugate(y);
    return dy == T(0) ? T(0) : (dy * z) * (T(-0.5f) * (z * z));
  }
};
struct ReciprocalGrad : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    const T z = conjugate(y);
    return dy == T(0) ? T(0) : (z * z) * (T(0) - dy);
  }
};

}  // namespace EMPLACE_FORMULAS::fn
