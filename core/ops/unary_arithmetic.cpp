// Abs, Neg, Sign, Square, Sqrt, Rsqrt, Reciprocal, Inv, and rounding to integers.
#include "core/ops/elementwise.h"
#include "core/ops/numeric.h"

namespace emplace {
namespace {

struct Abs {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? subtract(T(0), x) : x;
    else return std::fabs(x);
  }
};
struct Neg {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return subtract(T(0), x);
    else return -x;
  }
};
/// NaN stays; so do denormals that count as zero, but in double only: as TensorFlow has it.
struct Sign {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (kIsComplex<T>) return x == T(0) ? T(0) : x / std::abs(x);
    else if constexpr (std::is_integral_v<T>) return static_cast<T>((x > 0) - (x < 0));
    else if constexpr (std::is_same_v<T, double>) return std::fabs(x) > 0 ? std::copysign(T(1), x) : std::fabs(x);
    else return x > 0 ? T(1) : x < 0 ? T(-1) : x != x ? x : T(0);
  }
};
struct Square {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return multiply(x, x); }
};
struct Sqrt {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return std::sqrt(x); }
};
struct Rsqrt {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return T(1) / std::sqrt(x); }
};
struct Reciprocal {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return divide(T(1), x); }
};
struct Floor {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return std::floor(x); }
};
struct Ceil {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return std::ceil(x); }
};
/// Halfway cases to even: the rounding mode is never changed.
struct Rint {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return std::rint(x); }
};
/// What TensorFlow 2.21 answers for every integer.
struct RoundInteger {
  template <class T>
  EMPLACE_INLINE static T apply(T) { return 0; }
};
struct IsNan {
  template <class T>
  EMPLACE_INLINE static bool apply(T x) { return x != x; }
};
struct IsInf {
  template <class T>
  EMPLACE_INLINE static bool apply(T x) { return std::fabs(x) == std::numeric_limits<T>::infinity(); }
};
struct IsFinite {
  template <class T>
  EMPLACE_INLINE static bool apply(T x) { return std::fabs(x) < std::numeric_limits<T>::infinity(); }
};

constexpr DTypeSet kFloatingAndComplex = kFloating | kComplexes;

template <class F>
constexpr KernelMaker kFloatingOnly = elementwise<F, float, double>;
template <class F>
constexpr KernelMaker kWithComplex = elementwise<F, float, double, complex64, complex128>;

}  // namespace

OpDef abs_op() { return unary_op("Abs", "The absolute value.").cpu(kFloating | kSigned, elementwise<Abs, float, double, int32_t, int64_t>); }
OpDef neg_op() {
  return unary_op("Neg", "-x.").cpu(kFloatingAndComplex | kSigned, elementwise<Neg, float, double, int32_t, int64_t, complex64, complex128>);
}
OpDef sign_op() {
  return unary_op("Sign", "-1, 0 or 1 as x is below, at or above 0; NaN stays; complex numbers: x / |x|.")
      .cpu(kFloatingAndComplex | kSigned, elementwise<Sign, float, double, int32_t, int64_t, complex64, complex128>);
}
OpDef square_op() {
  return unary_op("Square", "x * x.")
      .cpu(kNumbers, elementwise<Square, float, double, int32_t, int64_t, uint64_t, complex64, complex128>);
}
OpDef sqrt_op() { return unary_op("Sqrt", "The square root.").cpu(kFloatingAndComplex, kWithComplex<Sqrt>); }
OpDef rsqrt_op() { return unary_op("Rsqrt", "1 / sqrt(x).").cpu(kFloatingAndComplex, kWithComplex<Rsqrt>); }
OpDef reciprocal_op() { return unary_op("Reciprocal", "1 / x.").cpu(kFloatingAndComplex, kWithComplex<Reciprocal>); }
OpDef inv_op() { return unary_op("Inv", "1 / x; the older name of Reciprocal.").cpu(kFloatingAndComplex, kWithComplex<Reciprocal>); }
OpDef floor_op() { return unary_op("Floor", "The largest integer not above x.").cpu(kFloating, kFloatingOnly<Floor>); }
OpDef ceil_op() { return unary_op("Ceil", "The smallest integer not below x.").cpu(kFloating, kFloatingOnly<Ceil>); }
OpDef round_op() {
  return unary_op("Round", "The nearest integer, halfway cases to even; 0 for integers, as in TensorFlow 2.21.")
      .cpu(kFloating, kFloatingOnly<Rint>)
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, elementwise<RoundInteger, int32_t, int64_t>);
}
OpDef rint_op() { return unary_op("Rint", "The nearest integer, halfway cases to even.").cpu(kFloatDouble, kFloatingOnly<Rint>); }
OpDef is_nan_op() { return unary_op("IsNan", "Is x NaN?").cpu(kFloating, kFloatingOnly<IsNan>); }
OpDef is_inf_op() { return unary_op("IsInf", "Is x an infinity?").cpu(kFloating, kFloatingOnly<IsInf>); }
OpDef is_finite_op() { return unary_op("IsFinite", "Is x neither NaN nor an infinity?").cpu(kFloating, kFloatingOnly<IsFinite>); }

}  // namespace emplace
