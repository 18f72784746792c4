/// Comparisons, logic, and operations on bits.
#pragma once

#include "cuda/arithmetic.h"
#ifndef __CUDACC_RTC__
#include "cuda/kernel_table.h"
#endif

namespace emplace::cuda::fn {

/// All comparisons: how a stands to b is one of four bits, and an op is true for some of them.
struct Compare {
  enum Order : int { kLess = 1, kSame = 2, kGreater = 4, kNone = 8 };  // kNone: a NaN, or numbers that have no order
  int wanted;

  EMPLACE_HOST_ONLY(static Compare of(const KernelInit& init) {
    if (init.op == "Less") return {kLess};
    if (init.op == "LessEqual") return {kLess | kSame};
    if (init.op == "Greater") return {kGreater};
    if (init.op == "GreaterEqual") return {kGreater | kSame};
    return {init.op == "Equal" ? kSame : kLess | kGreater | kNone};
  })
  EMPLACE_HOST_ONLY(static std::optional<bool> if_incompatible(const KernelInit& init) {
    if (init.op == "Equal") return false;
    return init.op == "NotEqual" ? std::optional(true) : std::nullopt;
  })
  template <class T>
  EMPLACE_HD bool apply(T a, T b) const {
    int order = a == b ? kSame : kNone;
    if constexpr (!kIsComplex<T>) order = a < b ? kLess : a > b ? kGreater : order;
    return (order & wanted) != 0;
  }
};

/// And, or, exclusive or: the bits that both have, that only one has, or all of these.
struct CombineBits {
  bool both, one;

  EMPLACE_HOST_ONLY(static CombineBits of(const KernelInit& init) {
    const bool exclusive = init.op.ends_with("Xor"), any = init.op.ends_with("Or");
    return {!exclusive, exclusive || any};
  })
  template <class T>
  EMPLACE_HD T apply(T a, T b) const {
    return static_cast<T>((both ? a & b : T(0)) | (one ? a ^ b : T(0)));
  }
};

struct LogicalNot {
  EMPLACE_HD static bool apply(bool x) { return !x; }
};
struct Invert {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    return static_cast<T>(~x);
  }
};

/// Shift amounts count from 0 to bits - 1; others are taken as the nearest of these.
template <class T>
EMPLACE_HD T shift_amount(T b) {
  constexpr T kMost = static_cast<T>(8 * sizeof(T) - 1);
  if constexpr (std::is_signed_v<T>) b = b < T(0) ? T(0) : b;
  return b < kMost ? b : kMost;
}
struct ShiftBits {
  bool left;

  EMPLACE_HOST_ONLY(static ShiftBits of(const KernelInit& init) { return {init.op == "LeftShift"}; })
  template <class T>
  EMPLACE_HD T apply(T a, T b) const {
    const T amount = shift_amount(b);
    return static_cast<T>(left ? static_cast<T>(static_cast<Unsigned<T>>(a) << amount) : static_cast<T>(a >> amount));
  }
};

}  // namespace emplace::cuda::fn
