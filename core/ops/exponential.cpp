// Exp, Expm1, Log, Log1p, Tanh, Sigmoid, Erf, Erfc.
#include "core/ops/elementwise.h"
#include "core/ops/vector_math.h"

namespace emplace {
namespace {

struct Exp {
  static constexpr double kCostNs = 0.3;
  template <class T>
  static constexpr bool kScalarOnly = kLibraryMath<T>;
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return exp_of(x); }
};
struct Expm1 : Exp {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return expm1_of(x); }
};
struct Log : Exp {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return log_of(x); }
};
struct Log1p : Exp {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return log1p_of(x); }
};
struct Tanh : Exp {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return tanh_of(x); }
};
struct Sigmoid : Exp {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return sigmoid_of(x); }
};
struct Erf {
  static constexpr double kCostNs = 10;
  template <class T>
  static constexpr bool kScalarOnly = true;
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return std::erf(x); }
};
struct Erfc : Erf {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return std::erfc(x); }
};

template <class F>
OpDef with_complex(std::string_view name, std::string_view doc) {
  return unary_op(name, doc).cpu(kFloating | kComplexes, elementwise<F, float, double, complex64, complex128>);
}

}  // namespace

OpDef exp_op() { return with_complex<Exp>("Exp", "e to the power of x."); }
OpDef expm1_op() { return with_complex<Expm1>("Expm1", "exp(x) - 1, accurate near 0."); }
OpDef log_op() { return with_complex<Log>("Log", "The natural logarithm."); }
OpDef log1p_op() { return with_complex<Log1p>("Log1p", "log(1 + x), accurate near 0."); }
OpDef tanh_op() { return with_complex<Tanh>("Tanh", "The hyperbolic tangent."); }
OpDef sigmoid_op() { return with_complex<Sigmoid>("Sigmoid", "1 / (1 + exp(-x))."); }
OpDef erf_op() { return unary_op("Erf", "The Gauss error function.").cpu(kFloating, elementwise<Erf, float, double>); }
OpDef erfc_op() { return unary_op("Erfc", "1 - Erf(x), accurate for large x.").cpu(kFloating, elementwise<Erfc, float, double>); }

}  // namespace emplace
