// Sine and its relatives, circular and hyperbolic, and Atan2: the C++ library's.
#include "core/ops/elementwise.h"
#include "core/ops/numeric.h"

namespace emplace {
namespace {

struct LibraryFunction {
  static constexpr double kCostNs = 8;
  template <class T>
  static constexpr bool kScalarOnly = true;
};

#define EMPLACE_LIBRARY_FUNCTION(Name, function)      \
  struct Name : LibraryFunction {                     \
    template <class T>                                \
    static T apply(T x) { return std::function(x); }  \
  };
EMPLACE_LIBRARY_FUNCTION(Sin, sin)
EMPLACE_LIBRARY_FUNCTION(Cos, cos)
EMPLACE_LIBRARY_FUNCTION(Tan, tan)
EMPLACE_LIBRARY_FUNCTION(Sinh, sinh)
EMPLACE_LIBRARY_FUNCTION(Cosh, cosh)
EMPLACE_LIBRARY_FUNCTION(Asin, asin)
EMPLACE_LIBRARY_FUNCTION(Acos, acos)
EMPLACE_LIBRARY_FUNCTION(Atan, atan)
EMPLACE_LIBRARY_FUNCTION(Asinh, asinh)
EMPLACE_LIBRARY_FUNCTION(Acosh, acosh)
EMPLACE_LIBRARY_FUNCTION(Atanh, atanh)
#undef EMPLACE_LIBRARY_FUNCTION

struct Atan2 : LibraryFunction {
  template <class T>
  static T apply(T y, T x) { return std::atan2(y, x); }
};

template <class F>
OpDef of(std::string_view name, std::string_view doc) {
  return unary_op(name, doc).cpu(kFloating | kComplexes, elementwise<F, float, double, complex64, complex128>);
}

}  // namespace

OpDef sin_op() { return of<Sin>("Sin", "The sine."); }
OpDef cos_op() { return of<Cos>("Cos", "The cosine."); }
OpDef tan_op() { return of<Tan>("Tan", "The tangent."); }
OpDef sinh_op() { return of<Sinh>("Sinh", "The hyperbolic sine."); }
OpDef cosh_op() { return of<Cosh>("Cosh", "The hyperbolic cosine."); }
OpDef asin_op() { return of<Asin>("Asin", "The inverse sine."); }
OpDef acos_op() { return of<Acos>("Acos", "The inverse cosine."); }
OpDef atan_op() { return of<Atan>("Atan", "The inverse tangent."); }
OpDef asinh_op() { return of<Asinh>("Asinh", "The inverse hyperbolic sine."); }
OpDef acosh_op() { return of<Acosh>("Acosh", "The inverse hyperbolic cosine."); }
OpDef atanh_op() { return of<Atanh>("Atanh", "The inverse hyperbolic tangent."); }
OpDef atan2_op() {
  return binary_op("Atan2", "The angle of the point (x, y), between -pi and pi.").cpu(kFloating, elementwise<Atan2, float, double>);
}

}  // namespace emplace
