// Exponential, logarithmic, circular and hyperbolic functions, and those of the gamma function.
#include "core/ops/gamma_functions.h"
#include "cuda/arithmetic.h"
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

#define EMPLACE_FUNCTION(Name, expression)                         \
  struct Name {                                                    \
    template <class T>                                             \
    EMPLACE_HD static T apply(T x) { return expression; }          \
  };
EMPLACE_FUNCTION(Expm1, std::expm1(x))
EMPLACE_FUNCTION(Log, std::log(x))
EMPLACE_FUNCTION(Log1p, std::log1p(x))
EMPLACE_FUNCTION(Tanh, std::tanh(x))
EMPLACE_FUNCTION(Sigmoid, T(1) / (T(1) + std::exp(-x)))
EMPLACE_FUNCTION(Erf, std::erf(x))
EMPLACE_FUNCTION(Erfc, std::erfc(x))
EMPLACE_FUNCTION(Asin, std::asin(x))
EMPLACE_FUNCTION(Acos, std::acos(x))
EMPLACE_FUNCTION(Atan, std::atan(x))
EMPLACE_FUNCTION(Asinh, std::asinh(x))
EMPLACE_FUNCTION(Acosh, std::acosh(x))
EMPLACE_FUNCTION(Atanh, std::atanh(x))
#undef EMPLACE_FUNCTION

#define EMPLACE_COMPLEX_FUNCTION(Name, function)                   \
  struct Name {                                                    \
    template <class T>                                             \
    EMPLACE_HD static T apply(T x) {                               \
      if constexpr (kIsComplex<T>) return function##_of(x);        \
      else return std::function(x);                                \
    }                                                              \
  };
EMPLACE_COMPLEX_FUNCTION(Exp, exp)
EMPLACE_COMPLEX_FUNCTION(Sin, sin)
EMPLACE_COMPLEX_FUNCTION(Cos, cos)
EMPLACE_COMPLEX_FUNCTION(Tan, tan)
EMPLACE_COMPLEX_FUNCTION(Sinh, sinh)
EMPLACE_COMPLEX_FUNCTION(Cosh, cosh)
#undef EMPLACE_COMPLEX_FUNCTION

struct Lgamma {
  template <class T>
  EMPLACE_HD static T apply(T x) { return static_cast<T>(lgamma_of(static_cast<double>(x))); }
};
struct Digamma {
  template <class T>
  EMPLACE_HD static T apply(T x) { return static_cast<T>(digamma_of(static_cast<double>(x))); }
};
struct Polygamma {
  template <class T>
  EMPLACE_HD static T apply(T n, T x) { return static_cast<T>(polygamma_of(static_cast<double>(n), static_cast<double>(x))); }
};
struct Zeta {
  template <class T>
  EMPLACE_HD static T apply(T x, T q) { return static_cast<T>(zeta_of(static_cast<double>(x), static_cast<double>(q))); }
};

template <class F>
void add_with_complex(KernelTable& table, std::string_view op) {
  table.add(op, kFloating | kComplexes, elementwise<F, float, double, half, bfloat16, complex64, complex128>);
}

}  // namespace

void add_exponential(KernelTable& table) {
  add_with_complex<Exp>(table, "Exp");
  add_with_complex<Sin>(table, "Sin");
  add_with_complex<Cos>(table, "Cos");
  add_with_complex<Tan>(table, "Tan");
  add_with_complex<Sinh>(table, "Sinh");
  add_with_complex<Cosh>(table, "Cosh");
  table.add("Expm1", kFloating, kOfFloating<Expm1>);
  table.add("Log", kFloating, kOfFloating<Log>);
  table.add("Log1p", kFloating, kOfFloating<Log1p>);
  table.add("Tanh", kFloating, kOfFloating<Tanh>);
  table.add("Sigmoid", kFloating, kOfFloating<Sigmoid>);
  table.add("Erf", kFloating, kOfFloating<Erf>);
  table.add("Erfc", kFloating, kOfFloating<Erfc>);
  constexpr DTypeSet kOfOne = kFloatDouble | DTypeSet{DType::kHalf};
  table.add("Lgamma", kOfOne, elementwise<Lgamma, float, double, half>);
  table.add("Digamma", kOfOne, elementwise<Digamma, float, double, half>);
  table.add("Polygamma", kFloatDouble, elementwise<Polygamma, float, double>);
  table.add("Zeta", kFloatDouble, elementwise<Zeta, float, double>);
  table.add("Asin", kFloating, kOfFloating<Asin>);
  table.add("Acos", kFloating, kOfFloating<Acos>);
  table.add("Atan", kFloating, kOfFloating<Atan>);
  table.add("Asinh", kFloating, kOfFloating<Asinh>);
  table.add("Acosh", kFloating, kOfFloating<Acosh>);
  table.add("Atanh", kFloating, kOfFloating<Atanh>);
}

}  // namespace emplace::cuda
