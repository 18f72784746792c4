/// Quotients and remainders, powers. What an integer divided by zero gives is no error here, but all bits set
/// (remainders: the dividend), since nobody waits for the device to find it.
#pragma once

#include <cmath>

#include "cuda/arithmetic.h"
#ifndef __CUDACC_RTC__
#include "cuda/kernel_table.h"
#endif

namespace emplace::cuda::fn {

template <class T>
EMPLACE_HD T quotient(T a, T b) {
  if (b == T(0)) return static_cast<T>(~T(0));
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return subtract(T(0), a);
  }
  return static_cast<T>(a / b);
}
/// Div, TruncateDiv, FloorDiv and FloorMod of integers.
struct IntegerDivision {
  bool floor, remainder;

  EMPLACE_HOST_ONLY(static IntegerDivision of(const KernelInit& init) {
    return {init.op.starts_with("Floor"), init.op == "FloorMod"};
  })
  template <class T>
  EMPLACE_HD T apply(T a, T b) const {
    const T q = quotient(a, b), r = b == T(0) ? a : subtract(a, multiply(q, b));
    bool down = false;
    if constexpr (std::is_signed_v<T>) down = floor && b != T(0) && r != T(0) && (a < T(0)) != (b < T(0));
    if (remainder) return down ? add(r, b) : r;
    return down ? subtract(q, T(1)) : q;
  }
};
/// FloorDiv and TruncateDiv of other numbers.
struct RoundedQuotient {
  bool floor;

  EMPLACE_HOST_ONLY(static RoundedQuotient of(const KernelInit& init) { return {init.op == "FloorDiv"}; })
  template <class T>
  EMPLACE_HD Wide<T> apply_as(Wide<T> a, Wide<T> b) const {
    const Wide<T> q = rounded<T>(a / b);
    return floor ? std::floor(q) : std::trunc(q);
  }
};
/// The remainder with the divisor's sign.
struct FloorMod {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    const T r = std::fmod(a, b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
  }
};
struct Div {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    return a / b;
  }
};
/// DivNoNan and MulNoNan.
struct NoNan {
  bool divide;

  EMPLACE_HOST_ONLY(static NoNan of(const KernelInit& init) { return {init.op == "DivNoNan"}; })
  template <class T>
  EMPLACE_HD T apply(T a, T b) const {
    return b == T(0) ? T(0) : divide ? a / b : a * b;
  }
};
struct Xdivy {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    if constexpr (kIsComplex<T>)
      return a == T(0) ? T(0) : a / b;
    else
      return a == T(0) ? std::copysign(T(0), a) : a / b;
  }
};
struct Pow {
  template <class T>
  EMPLACE_HD static T apply(T base, T exponent) {
    if constexpr (std::is_integral_v<T>) {
      T result = 1;
      for (; exponent > 0; exponent = static_cast<T>(exponent >> 1), base = multiply(base, base)) {
        if (exponent & 1) result = multiply(result, base);
      }
      return result;
    } else {
      return std::pow(base, exponent);
    }
  }
};
struct Xlogy {
  template <class T>
  EMPLACE_HD static T apply(T x, T y) {
    if constexpr (kIsComplex<T>)
      return x == T(0) ? T(0) : x * log_of(y);
    else
      return x == T(0) ? T(0) : x * std::log(y);
  }
};
struct Atan2 {
  template <class T>
  EMPLACE_HD static T apply(T y, T x) {
    return std::atan2(y, x);
  }
};

}  // namespace emplace::cuda::fn
