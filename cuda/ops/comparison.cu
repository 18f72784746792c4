// Comparisons, logic, and operations on bits.
#include "cuda/arithmetic.h"
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

#define EMPLACE_BINARY(Name, Out, expression)                      \
  struct Name {                                                    \
    template <class T>                                             \
    EMPLACE_HD static Out apply(T a, T b) { return expression; }   \
  };
EMPLACE_BINARY(Less, bool, a < b)
EMPLACE_BINARY(LessEqual, bool, a <= b)
EMPLACE_BINARY(Greater, bool, a > b)
EMPLACE_BINARY(GreaterEqual, bool, a >= b)
EMPLACE_BINARY(And, T, static_cast<T>(a & b))
EMPLACE_BINARY(Or, T, static_cast<T>(a | b))
EMPLACE_BINARY(Xor, T, static_cast<T>(a ^ b))
#undef EMPLACE_BINARY

struct Equal {
  static constexpr bool kIfIncompatible = false;
  template <class T>
  EMPLACE_HD static bool apply(T a, T b) { return a == b; }
};
struct NotEqual {
  static constexpr bool kIfIncompatible = true;
  template <class T>
  EMPLACE_HD static bool apply(T a, T b) { return a != b; }
};

struct LogicalNot {
  EMPLACE_HD static bool apply(bool x) { return !x; }
};
struct Invert {
  template <class T>
  EMPLACE_HD static T apply(T x) { return static_cast<T>(~x); }
};

/// Shift amounts count from 0 to bits - 1; others are taken as the nearest of these.
template <class T>
EMPLACE_HD T shift_amount(T b) {
  constexpr T kMost = static_cast<T>(8 * sizeof(T) - 1);
  return b < T(0) ? T(0) : b < kMost ? b : kMost;
}
struct LeftShift {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) { return static_cast<T>(static_cast<Unsigned<T>>(a) << shift_amount(b)); }
};
struct RightShift {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) { return static_cast<T>(a >> shift_amount(b)); }
};

template <class F>
constexpr KernelMaker kOrdered = elementwise<F, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
template <class F>
constexpr KernelMaker kEquality = elementwise_unsigned<F, float, double, half, bfloat16, uint8_t, uint16_t, uint32_t, uint64_t, bool, complex64, complex128>;
template <class F>
constexpr KernelMaker kBits = elementwise_unsigned<F, uint8_t, uint16_t, uint32_t, uint64_t>;

}  // namespace

void add_comparison(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kAll = kNumbersAndBool.without(kHostInt32);
  table.add("Less", kReals, kOrdered<Less>);
  table.add("LessEqual", kReals, kOrdered<LessEqual>);
  table.add("Greater", kReals, kOrdered<Greater>);
  table.add("GreaterEqual", kReals, kOrdered<GreaterEqual>);
  table.add("Equal", kAll, kEquality<Equal>);
  table.add("NotEqual", kAll, kEquality<NotEqual>);
  for (auto op : {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"}) table.add_host_code(op, kHostInt32);

  table.add("LogicalAnd", kAnyType, elementwise<And, bool>);
  table.add("LogicalOr", kAnyType, elementwise<Or, bool>);
  table.add("LogicalNot", kAnyType, elementwise<LogicalNot, bool>);
  table.add("BitwiseAnd", kIntegers, kBits<And>);
  table.add("BitwiseOr", kIntegers, kBits<Or>);
  table.add("BitwiseXor", kIntegers, kBits<Xor>);
  table.add("Invert", kIntegers, kBits<Invert>);
  table.add("LeftShift", kIntegers, kOfIntegers<LeftShift>);
  table.add("RightShift", kIntegers, kOfIntegers<RightShift>);
}

}  // namespace emplace::cuda
