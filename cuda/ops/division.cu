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
template <class T>
EMPLACE_HD T remainder_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == T(0)) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T(0);
    }
    return static_cast<T>(a % b);
  }
}

struct Div {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) return quotient(a, b);
    else return a / b;
  }
};
struct DivNoNan {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) { return b == T(0) ? T(0) : a / b; }
};
struct MulNoNan {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) { return b == T(0) ? T(0) : a * b; }
};
struct Xdivy {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    if constexpr (kIsComplex<T>) return a == T(0) ? T(0) : a / b;
    else return a == T(0) ? std::copysign(T(0), a) : a / b;
  }
};
struct FloorDiv {
  template <class T>
  EMPLACE_HD static Wide<T> apply_as(Wide<T> a, Wide<T> b) {
    if constexpr (!std::is_integral_v<T>) {
      return std::floor(rounded<T>(a / b));
    } else {
      T q = quotient(a, b);
      if constexpr (std::is_signed_v<T>) {
        if (b != 0 && (a < 0) != (b < 0) && remainder_of(a, b) != 0) --q;
      }
      return q;
    }
  }
};
struct TruncateDiv {
  template <class T>
  EMPLACE_HD static Wide<T> apply_as(Wide<T> a, Wide<T> b) {
    if constexpr (std::is_integral_v<T>) return quotient(a, b);
    else return std::trunc(rounded<T>(a / b));
  }
};
/// The remainder with the divisor's sign.
struct FloorMod {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    T r = remainder_of(a, b);
    if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>) {
      if (r != T(0) && (r < T(0)) != (b < T(0))) r = add(r, b);
    }
    return r;
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

template <class F>
constexpr KernelMaker kReal = elementwise<F, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
template <class F>
constexpr KernelMaker kWithComplex = elementwise<F, float, double, half, bfloat16, complex64, complex128>;

}  // namespace

void add_division(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kFractions = kFloating | kComplexes;
  table.add("Div", kFractions, kWithComplex<Div>);
  table.add("Div", kReals, kReal<Div>);
  table.add("RealDiv", kFractions, kWithComplex<Div>);
  table.add("DivNoNan", kFractions, kWithComplex<DivNoNan>);
  table.add("MulNoNan", kFractions, kWithComplex<MulNoNan>);
  table.add("Xdivy", kFractions, kWithComplex<Xdivy>);
  table.add("Xlogy", kFractions, kWithComplex<Xlogy>);
  table.add("FloorDiv", kReals, kReal<FloorDiv>);
  table.add("TruncateDiv", kReals, kReal<TruncateDiv>);
  table.add("FloorMod", kReals, kReal<FloorMod>);
  table.add("Pow", kFloating | kSigned.without(kHostInt32), elementwise<Pow, float, double, half, bfloat16, int8_t, int16_t, int64_t>);
  table.add("Atan2", kFloating, kOfFloating<Atan2>);
  for (auto op : {"Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod"}) table.add_host_code(op, kHostInt32);
}

}  // namespace emplace::cuda
