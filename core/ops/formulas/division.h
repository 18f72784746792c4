/// Quotients and remainders, powers. Where an integer's divisor is zero and nobody refused that before, a quotient has
/// all bits set and a remainder is the dividend.
#pragma once

#include <cmath>

#include "core/ops/kit/formula.h"

namespace EMPLACE_FORMULAS::fn {

template <class T>
EMPLACE_INLINE bool divides_by_zero(T b) {
  if constexpr (std::is_integral_v<T>)
    return !kDivisorsAreChecked && b == T(0);
  else
    return false;
}
/// The smallest integer divided by -1 wraps.
template <class T>
EMPLACE_INLINE T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (divides_by_zero(b)) return static_cast<T>(~T(0));
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return subtract(T(0), a);
    }
  }
  return static_cast<T>(a / b);
}
/// With the dividend's sign.
template <class T>
EMPLACE_INLINE T remainder_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (divides_by_zero(b)) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    return static_cast<T>(a % b);
  }
}

struct IntegerDiv {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return quotient(a, b);
  }
};
struct IntegerFloorDiv {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    T q = quotient(a, b);
    if constexpr (std::is_signed_v<T>) {
      if (!divides_by_zero(b) && (a < 0) != (b < 0) && remainder_of(a, b) != 0) q = static_cast<T>(q - 1);
    }
    return q;
  }
};
struct TruncateMod {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return remainder_of(a, b);
  }
};
/// The remainder with the divisor's sign.
struct FloorMod {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    T r = remainder_of(a, b);
    if constexpr (std::is_signed_v<T>) {
      if (!divides_by_zero(b) && r != 0 && (r < 0) != (b < 0)) r = static_cast<T>(r + b);
    }
    return r;
  }
};

struct RealDiv {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return divide(a, b);
  }
};
struct DivNoNan {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return b == T(0) ? T(0) : divide(a, b);
  }
};
struct MulNoNan {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return b == T(0) ? T(0) : multiply(a, b);
  }
};
struct Xdivy {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    if constexpr (kIsComplex<T>)
      return a == T(0) ? T(0) : divide(a, b);
    else
      return a == T(0) ? std::copysign(T(0), a) : a / b;
  }
};
// Halves round the quotient before it is cut.
struct FloorDiv : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    if constexpr (kIsHalf<T>)
      return T(std::floor(static_cast<float>(a / b)));
    else
      return std::floor(a / b);
  }
};
struct TruncateDiv : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    if constexpr (kIsHalf<T>)
      return T(std::trunc(static_cast<float>(a / b)));
    else
      return std::trunc(a / b);
  }
};

struct Pow {
  template <class T>
  EMPLACE_INLINE static T apply(T base, T exponent) {
    return std::pow(base, exponent);
  }
};
/// By repeated squaring, wrapping. A negative exponent has no integer result.
struct IntegerPow {
  template <class T>
  EMPLACE_INLINE static T apply(T base, T exponent) {
    T result = 1;
    for (; exponent > 0; exponent = static_cast<T>(exponent >> 1), base = multiply(base, base)) {
      if (exponent & 1) result = multiply(result, base);
    }
    return result;
  }
};
struct Xlogy {
  template <class T>
  EMPLACE_INLINE static T apply(T x, T y) {
    const T product = x * log_of(y);
    return x == T(0) ? T(0) : product;
  }
};
struct Xlog1py {
  template <class T>
  EMPLACE_INLINE static T apply(T x, T y) {
    const T product = x * log1p_of(y);
    return x == T(0) ? T(0) : product;
  }
};
struct Atan2 {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T x) {
    return std::atan2(y, x);
  }
};

}  // namespace EMPLACE_FORMULAS::fn
