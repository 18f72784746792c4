// Abs, Neg, Sign, Square, roots, reciprocals, and rounding to integers.
#include "cuda/arithmetic.h"
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

struct Abs {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? subtract(T(0), x) : x;
    else return std::fabs(x);
  }
};
struct Neg {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return subtract(T(0), x);
    else return -x;
  }
};
/// NaN stays.
struct Sign {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    if constexpr (kIsComplex<T>) {
      if (x == T(0)) return T(0);
      const auto size = magnitude(x);
      return {x.re / size, x.im / size};
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>((x > 0) - (x < 0));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::fabs(x) > 0 ? std::copysign(T(1), x) : std::fabs(x);
    } else {
      return x > 0 ? T(1) : x < 0 ? T(-1) : x != x ? x : T(0);
    }
  }
};

#define EMPLACE_FUNCTION(Name, Out, expression)                    \
  struct Name {                                                    \
    template <class T>                                             \
    EMPLACE_HD static Out apply(T x) { return expression; }        \
  };
EMPLACE_FUNCTION(Square, T, multiply(x, x))
EMPLACE_FUNCTION(Sqrt, T, std::sqrt(x))
EMPLACE_FUNCTION(Rsqrt, T, T(1) / std::sqrt(x))
EMPLACE_FUNCTION(Reciprocal, T, T(1) / x)
EMPLACE_FUNCTION(RoundInteger, T, x * T(0))  // what TensorFlow 2.21 answers for every integer
#undef EMPLACE_FUNCTION

/// Floor, Ceil, and Rint and Round, which take the nearest.
struct RoundTo {
  enum Direction { kDown, kUp, kNearest } direction;

  static RoundTo of(const KernelInit& init) { return {init.op == "Floor" ? kDown : init.op == "Ceil" ? kUp : kNearest}; }
  template <class T>
  EMPLACE_HD T apply(T x) const { return direction == kDown ? std::floor(x) : direction == kUp ? std::ceil(x) : std::rint(x); }
};
/// IsNan, IsInf, IsFinite.
struct IsOfKind {
  enum Kind { kNan, kInfinite, kFinite } kind;

  static IsOfKind of(const KernelInit& init) { return {init.op == "IsNan" ? kNan : init.op == "IsInf" ? kInfinite : kFinite}; }
  template <class T>
  EMPLACE_HD bool apply(T x) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return kind == (x != x ? kNan : std::fabs(x) == kInfinity ? kInfinite : kFinite);
  }
};

}  // namespace

void add_unary(KernelTable& table) {
  constexpr DTypeSet kInts = kSigned.without(kHostInt32);
  table.add("Abs", kFloating | kInts, elementwise<Abs, float, double, half, bfloat16, int8_t, int16_t, int64_t>);
  table.add("Neg", kFloating | kInts | kComplexes, elementwise<Neg, float, double, half, bfloat16, int8_t, int16_t, int64_t, complex64, complex128>);
  table.add("Sign", kFloating | kInts | kComplexes, elementwise<Sign, float, double, half, bfloat16, int8_t, int16_t, int64_t, complex64, complex128>);
  table.add("Square", kRealNumbers.without(kHostInt32),
            elementwise_unsigned<Square, float, double, half, bfloat16, uint8_t, uint16_t, uint32_t, uint64_t>);
  for (auto op : {"Abs", "Neg", "Sign", "Square"}) table.add_host_code(op, kHostInt32);
  table.add("Sqrt", kFloating, kOfFloating<Sqrt>);
  table.add("Rsqrt", kFloating, kOfFloating<Rsqrt>);
  table.add("Reciprocal", kFloating | kComplexes, kOfFractions<Reciprocal>);
  table.add("Inv", kFloating | kComplexes, kOfFractions<Reciprocal>);
  for (auto op : {"Floor", "Ceil", "Rint", "Round"}) table.add(op, kFloating, kOfFloating<RoundTo>);
  for (auto op : {"IsNan", "IsInf", "IsFinite"}) table.add(op, kFloating, kOfFloating<IsOfKind>);
  table.add("Round", DTypeSet{DType::kInt32, DType::kInt64}, elementwise<RoundInteger, int32_t, int64_t>);
}

}  // namespace emplace::cuda
