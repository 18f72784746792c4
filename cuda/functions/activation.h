/// Relu and its relatives, their gradients, and the gradients of other elementwise functions.
#pragma once

#include <cmath>

#include "core/ops/math/selu_constants.h"
#include "cuda/arithmetic.h"
#ifndef __CUDACC_RTC__
#include "cuda/kernel_table.h"
#endif

namespace emplace::cuda::fn {

struct Relu {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    return maximum(x, T(0));
  }
};
struct Relu6 {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    return minimum(maximum(x, T(0)), T(6));
  }
};
// exp(x) - 1, not expm1(x), and halves round after every operation: as TensorFlow has it.
struct Elu {
  template <class T>
  EMPLACE_HD static Wide<T> apply_as(Wide<T> x) {
    return x < 0 ? rounded<T>(std::exp(x)) - 1 : x;
  }
};
struct Selu {
  template <class T>
  EMPLACE_HD static Wide<T> apply_as(Wide<T> x) {
    using W = Wide<T>;
    if (!(x < 0)) return rounded<T>(W(kSeluScale)) * x;
    return rounded<T>(W(kSeluScaleAlpha)) * rounded<T>(rounded<T>(std::exp(x)) - 1);
  }
};
/// In halves TensorFlow takes x or exp(x) itself where it holds the difference for less than its rounding.
struct Softplus {
  template <class T>
  EMPLACE_HD static Wide<T> apply_as(Wide<T> x) {
    if constexpr (kIsNarrow<T>) {
      constexpr float kThreshold =
          std::is_same_v<T, half> ? 7.0109134f : 2.8520303f;  // -log(2^-13) - 2, -log(2^-7) - 2
      if (x > kThreshold) return x;
      const float power = rounded<T>(std::exp(x));
      return x < -kThreshold ? power : std::log1p(power);
    } else {
      return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::fabs(x)));
    }
  }
};
struct Softsign {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    return x / (T(1) + std::fabs(x));
  }
};

/// With alpha as the element type holds it.
struct WithAlpha {
  float alpha;
  EMPLACE_HOST_ONLY(static float alpha_of(const KernelInit& init) {
    const float alpha = init.attrs.number("alpha");
    switch (init.input_types[0]) {
      case DType::kHalf:
        return static_cast<float>(half(alpha));
      case DType::kBFloat16:
        return static_cast<float>(bfloat16(alpha));
      default:
        return alpha;
    }
  })
};
struct LeakyRelu : WithAlpha {
  EMPLACE_HOST_ONLY(static LeakyRelu of(const KernelInit& init) { return {{alpha_of(init)}}; })
  template <class T>
  EMPLACE_HD T apply(T x) const {
    return x > 0 ? x : x * T(alpha);
  }
};
struct LeakyReluGrad : WithAlpha {
  EMPLACE_HOST_ONLY(static LeakyReluGrad of(const KernelInit& init) { return {{alpha_of(init)}}; })
  template <class T>
  EMPLACE_HD T apply(T dy, T x) const {
    return x > 0 ? dy : dy * T(alpha);
  }
};
struct Prelu {
  template <class T>
  EMPLACE_HD static T apply(T x, T alpha) {
    return x < 0 ? alpha * x : x;
  }
};

// Of (gradient, features or outputs). TensorFlow multiplies by 0 or 1, so an infinite gradient becomes NaN where it is
// stopped.
#define EMPLACE_GRADIENT(Name, expression) \
  struct Name {                            \
    template <class T>                     \
    EMPLACE_HD static T apply(T dy, T x) { \
      return expression;                   \
    }                                      \
  };
EMPLACE_GRADIENT(ReluGrad, dy* T(x > 0))
EMPLACE_GRADIENT(Relu6Grad, dy* T(x > 0 && x < T(6)))
EMPLACE_GRADIENT(EluGrad, x < 0 ? (x + T(1)) * dy : dy)
EMPLACE_GRADIENT(SeluGrad, x < 0 ? dy * (x + T(kSeluScaleAlpha)) : dy * T(kSeluScale))
EMPLACE_GRADIENT(SoftplusGrad, dy / (std::exp(-x) + T(1)))
EMPLACE_GRADIENT(SoftsignGrad, dy / ((T(1) + std::fabs(x)) * (T(1) + std::fabs(x))))
#undef EMPLACE_GRADIENT

// Of (output, gradient).
#define EMPLACE_GRADIENT(Name, expression)  \
  struct Name {                             \
    static constexpr bool kSameSize = true; \
    template <class T>                      \
    EMPLACE_HD static T apply(T y, T dy) {  \
      return expression;                    \
    }                                       \
  };
EMPLACE_GRADIENT(SigmoidGrad, dy* y*(T(1) - y))
EMPLACE_GRADIENT(TanhGrad, dy*(T(1) - y * y))
EMPLACE_GRADIENT(SqrtGrad, dy == T(0) ? dy * T(0.5) : dy * T(0.5) / y)
EMPLACE_GRADIENT(RsqrtGrad, dy == T(0) ? T(0) : (dy * T(-0.5)) * y * (y * y))
EMPLACE_GRADIENT(ReciprocalGrad, dy == T(0) ? T(0) : dy * (-y) * y)
#undef EMPLACE_GRADIENT

}  // namespace emplace::cuda::fn
