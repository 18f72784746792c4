// Comparisons, logic, and operations on bits.
#include "cuda/arithmetic.h"
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

/// All comparisons: how a stands to b is one of four bits, and an op is true for some of them.
struct Compare {
  enum Order : int { kLess = 1, kSame = 2, kGreater = 4, kNone = 8 };  // kNone: a NaN, or numbers that have no order
  int wanted;

  static Compare of(const KernelInit& init) {
    if (init.op == "Less") return {kLess};
    if (init.op == "LessEqual") return {kLess | kSame};
    if (init.op == "Greater") return {kGreater};
    if (init.op == "GreaterEqual") return {kGreater | kSame};
    return {init.op == "Equal" ? kSame : kLess | kGreater | kNone};
  }
  static std::optional<bool> if_incompatible(const KernelInit& init) {
    if (init.op == "Equal") return false;
    return init.op == "NotEqual" ? std::optional(true) : std::nullopt;
  }
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

  static CombineBits of(const KernelInit& init) {
    const bool exclusive = init.op.ends_with("Xor"), any = init.op.ends_with("Or");
    return {!exclusive, exclusive || any};
  }
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
  EMPLACE_HD static T apply(T x) { return static_cast<T>(~x); }
};

/// Shift amounts count from 0 to bits - 1; others are taken as the nearest of these.
template <class T>
EMPLACE_HD T shift_amount(T b) {
  constexpr T kMost = static_cast<T>(8 * sizeof(T) - 1);
  return b < T(0) ? T(0) : b < kMost ? b : kMost;
}
struct ShiftBits {
  bool left;

  static ShiftBits of(const KernelInit& init) { return {init.op == "LeftShift"}; }
  template <class T>
  EMPLACE_HD T apply(T a, T b) const {
    const T amount = shift_amount(b);
    return static_cast<T>(left ? static_cast<T>(static_cast<Unsigned<T>>(a) << amount) : static_cast<T>(a >> amount));
  }
};

template <class F>
constexpr KernelMaker kBits = elementwise_unsigned<F, uint8_t, uint16_t, uint32_t, uint64_t>;

}  // namespace

void add_comparison(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kAll = kNumbersAndBool.without(kHostInt32);
  for (auto op : {"Less", "LessEqual", "Greater", "GreaterEqual"}) table.add(op, kReals, kOfReals<Compare>);
  for (auto op : {"Equal", "NotEqual"}) {
    table.add(op, kReals, kOfReals<Compare>);
    table.add(op, kAll, elementwise<Compare, bool, complex64, complex128>);
  }
  for (auto op : {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"}) table.add_host_code(op, kHostInt32);

  table.add("LogicalAnd", kAnyType, elementwise<CombineBits, bool>);
  table.add("LogicalOr", kAnyType, elementwise<CombineBits, bool>);
  table.add("LogicalNot", kAnyType, elementwise<LogicalNot, bool>);
  table.add("BitwiseAnd", kIntegers, kBits<CombineBits>);
  table.add("BitwiseOr", kIntegers, kBits<CombineBits>);
  table.add("BitwiseXor", kIntegers, kBits<CombineBits>);
  table.add("Invert", kIntegers, kBits<Invert>);
  table.add("LeftShift", kIntegers, kOfIntegers<ShiftBits>);
  table.add("RightShift", kIntegers, kOfIntegers<ShiftBits>);
}

}  // namespace emplace::cuda
