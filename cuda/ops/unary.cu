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
EMPLACE_FUNCTION(Floor, T, std::floor(x))
EMPLACE_FUNCTION(Ceil, T, std::ceil(x))
EMPLACE_FUNCTION(Rint, T, std::rint(x))
EMPLACE_FUNCTION(IsNan, bool, x != x)
EMPLACE_FUNCTION(IsInf, bool, std::fabs(x) == std::numeric_limits<T>::infinity())
EMPLACE_FUNCTION(IsFinite, bool, std::fabs(x) < std::numeric_limits<T>::infinity())
EMPLACE_FUNCTION(RoundInteger, T, x * T(0))  // what TensorFlow 2.21 answers for every integer
#undef EMPLACE_FUNCTION

template <class F>
constexpr KernelMaker kWithComplex = elementwise<F, float, double, half, bfloat16, complex64, complex128>;

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
  table.add("Reciprocal", kFloating | kComplexes, kWithComplex<Reciprocal>);
  table.add("Inv", kFloating | kComplexes, kWithComplex<Reciprocal>);
  table.add("Floor", kFloating, kOfFloating<Floor>);
  table.add("Ceil", kFloating, kOfFloating<Ceil>);
  table.add("Rint", kFloating, kOfFloating<Rint>);
  table.add("Round", kFloating, kOfFloating<Rint>);
  table.add("Round", DTypeSet{DType::kInt32, DType::kInt64}, elementwise<RoundInteger, int32_t, int64_t>);
  table.add("IsNan", kFloating, kOfFloating<IsNan>);
  table.add("IsInf", kFloating, kOfFloating<IsInf>);
  table.add("IsFinite", kFloating, kOfFloating<IsFinite>);
}

}  // namespace emplace::cuda
