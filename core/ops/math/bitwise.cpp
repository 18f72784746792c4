// BitwiseAnd, BitwiseOr, BitwiseXor, Invert, LeftShift, RightShift.
#include <algorithm>

#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

struct And {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return a ^ b;
  }
};
struct Invert {
  template <class T>
  EMPLACE_INLINE static T apply(T a) {
    return ~a;
  }
};

/// Shift amounts count from 0 to bits - 1; others are taken as the nearest of these. Works in the element's own type,
/// whose width matters.
template <class T>
EMPLACE_INLINE T shift_amount(T b) {
  constexpr T kMost = static_cast<T>(8 * sizeof(T) - 1);
  return b < T(0) ? T(0) : std::min(b, kMost);
}
struct LeftShift {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << shift_amount(b));
  }
};
struct RightShift {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return static_cast<T>(a >> shift_amount(b));
  }
};

template <class F>
constexpr KernelMaker kBits = elementwise<F, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kShift = elementwise<F, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

OpDef integers(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_broadcast)
      .may_overwrite_input()
      .sample("x=i32[2,3] uniform(-100,100); y=i32[3] uniform(0,31)");
}

}  // namespace

OpDef bitwise_and_op() {
  return integers("BitwiseAnd", "The bits set in both.").cpu(kIntegers, kBits<And>).not_differentiable();
}
OpDef bitwise_or_op() {
  return integers("BitwiseOr", "The bits set in either.").cpu(kIntegers, kBits<Or>).not_differentiable();
}
OpDef bitwise_xor_op() {
  return integers("BitwiseXor", "The bits set in one of both.").cpu(kIntegers, kBits<Xor>).not_differentiable();
}
OpDef left_shift_op() {
  return integers("LeftShift", "x shifted left by y bits.").cpu(kIntegers, kShift<LeftShift>).not_differentiable();
}
OpDef right_shift_op() {
  return integers("RightShift", "x shifted right by y bits; signed integers keep their sign.")
      .cpu(kIntegers, kShift<RightShift>)
      .not_differentiable();
}
OpDef invert_op() {
  return OpDef("Invert")
      .doc("All bits flipped.")
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(kIntegers, kBits<Invert>)
      .sample("x=i32[2,3] uniform(-100,100)")
      .not_differentiable();
}

}  // namespace emplace
