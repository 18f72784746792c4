/// Comparisons, logic, and operations on bits.
#pragma once

#include "core/ops/kit/formula.h"

namespace EMPLACE_FORMULAS::fn {

struct Less {
  template <class T>
  EMPLACE_INLINE static bool apply(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  EMPLACE_INLINE static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  EMPLACE_INLINE static bool apply(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  EMPLACE_INLINE static bool apply(T a, T b) {
    return a >= b;
  }
};
/// Is the difference less than that?
struct ApproximateEqual {
  float tolerance;
  template <class T>
  EMPLACE_INLINE bool apply(T a, T b) const {
    const T difference = a - b;
    return (difference < T(0) ? -difference : difference) < static_cast<T>(tolerance);
  }
};
struct Equal {
  static constexpr bool kOfIncompatible = false;  // the one answer where operands do not broadcast
  template <class T>
  EMPLACE_INLINE static bool apply(const T& a, const T& b) {
    return a == b;
  }
};
struct NotEqual {
  static constexpr bool kOfIncompatible = true;
  template <class T>
  EMPLACE_INLINE static bool apply(const T& a, const T& b) {
    return a != b;
  }
};

// Of truth values and of bits.
struct And {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct LogicalNot {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    return !x;
  }
};
struct Invert {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    return static_cast<T>(~x);
  }
};

struct PopulationCount {
  template <class T>
  EMPLACE_INLINE static uint8_t apply(T x) {
    auto rest = static_cast<uint64_t>(static_cast<Unsigned<T>>(x));
    rest -= rest >> 1 & 0x5555555555555555u;
    rest = (rest & 0x3333333333333333u) + (rest >> 2 & 0x3333333333333333u);
    rest = (rest + (rest >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<uint8_t>(rest * 0x0101010101010101u >> 56);
  }
};

/// Shift amounts count from 0 to bits - 1; others are taken as the nearest of these. Works in the element's own type,
/// whose width matters.
template <class T>
EMPLACE_INLINE T shift_amount(T b) {
  constexpr T kMost = static_cast<T>(8 * sizeof(T) - 1);
  if constexpr (std::is_signed_v<T>) b = b < T(0) ? T(0) : b;
  return b < kMost ? b : kMost;
}
struct LeftShift {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) << shift_amount(b));
  }
};
struct RightShift {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return static_cast<T>(a >> shift_amount(b));
  }
};

}  // namespace EMPLACE_FORMULAS::fn
