// Div, RealDiv, DivNoNan, MulNoNan, FloorDiv, FloorMod, TruncateDiv, Xdivy, Xlogy, Pow, Atan2. What an integer divided by zero gives
// is no error here, but all bits set (remainders: the dividend), since nobody waits for the device to find it.
#include "cuda/arithmetic.h"
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

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

  static IntegerDivision of(const KernelInit& init) { return {init.op.starts_with("Floor"), init.op == "FloorMod"}; }
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

  static RoundedQuotient of(const KernelInit& init) { return {init.op == "FloorDiv"}; }
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
  EMPLACE_HD static T apply(T a, T b) { return a / b; }
};
/// DivNoNan and MulNoNan.
struct NoNan {
  bool divide;

  static NoNan of(const KernelInit& init) { return {init.op == "DivNoNan"}; }
  template <class T>
  EMPLACE_HD T apply(T a, T b) const { return b == T(0) ? T(0) : divide ? a / b : a * b; }
};
struct Xdivy {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    if constexpr (kIsComplex<T>) return a == T(0) ? T(0) : a / b;
    else return a == T(0) ? std::copysign(T(0), a) : a / b;
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
    if constexpr (kIsComplex<T>) return x == T(0) ? T(0) : x * log_of(y);
    else return x == T(0) ? T(0) : x * std::log(y);
  }
};
struct Atan2 {
  template <class T>
  EMPLACE_HD static T apply(T y, T x) { return std::atan2(y, x); }
};

}  // namespace

void add_division(KernelTable& table) {
  constexpr DTypeSet kFractions = kFloating | kComplexes;
  table.add("Div", kFractions, kOfFractions<Div>);
  for (auto op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod"}) {
    table.add(op, kIntegers.without(kHostInt32), elementwise<IntegerDivision, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>);
  }
  table.add("RealDiv", kFractions, kOfFractions<Div>);
  table.add("DivNoNan", kFractions, kOfFractions<NoNan>);
  table.add("MulNoNan", kFractions, kOfFractions<NoNan>);
  table.add("Xdivy", kFractions, kOfFractions<Xdivy>);
  table.add("Xlogy", kFractions, kOfFractions<Xlogy>);
  table.add("FloorDiv", kFloating, kOfFloating<RoundedQuotient>);
  table.add("TruncateDiv", kFloating, kOfFloating<RoundedQuotient>);
  table.add("FloorMod", kFloating, kOfFloating<FloorMod>);
  table.add("Pow", kFloating | kSigned.without(kHostInt32), elementwise<Pow, float, double, half, bfloat16, int8_t, int16_t, int64_t>);
  table.add("Atan2", kFloating, kOfFloating<Atan2>);
  for (auto op : {"Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod"}) table.add_host_code(op, kHostInt32);
}

}  // namespace emplace::cuda
