// Exponential, logarithmic, circular and hyperbolic functions, and those of the gamma function.
#include "cuda/elementwise.h"

#include "core/ops/formulas/exponential.h"
#include "core/ops/math/gamma_functions.h"

namespace emplace::cuda {
namespace {

struct Lgamma {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    return static_cast<T>(lgamma_of(static_cast<double>(x)));
  }
};
struct Digamma {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    return static_cast<T>(digamma_of(static_cast<double>(x)));
  }
};
struct Polygamma {
  template <class T>
  EMPLACE_HD static T apply(T n, T x) {
    return static_cast<T>(polygamma_of(static_cast<double>(n), static_cast<double>(x)));
  }
};
struct Zeta {
  template <class T>
  EMPLACE_HD static T apply(T x, T q) {
    return static_cast<T>(zeta_of(static_cast<double>(x), static_cast<double>(q)));
  }
};

template <class F>
void add_with_complex(KernelTable& table, std::string_view op) {
  table.add(op, kFloating | kComplexes, elementwise<F, float, double, half, bfloat16, complex64, complex128>);
}

}  // namespace

void add_exponential(KernelTable& table) {
  add_with_complex<fn::Exp>(table, "Exp");
  add_with_complex<fn::Sin>(table, "Sin");
  add_with_complex<fn::Cos>(table, "Cos");
  add_with_complex<fn::Tan>(table, "Tan");
  add_with_complex<fn::Sinh>(table, "Sinh");
  add_with_complex<fn::Cosh>(table, "Cosh");
  table.add("Expm1", kFloating, kOfFloating<fn::Expm1>);
  table.add("Log", kFloating, kOfFloating<fn::Log>);
  table.add("Log1p", kFloating, kOfFloating<fn::Log1p>);
  table.add("Tanh", kFloating, kOfFloating<fn::Tanh>);
  table.add("Sigmoid", kFloating, kOfFloating<fn::Sigmoid>);
  table.add("Erf", kFloating, kOfFloating<fn::Erf>);
  table.add("Erfc", kFloating, kOfFloating<fn::Erfc>);
  constexpr DTypeSet kOfOne = kFloatDouble | DTypeSet{DType::kHalf};
  table.add("Lgamma", kOfOne, elementwise<Lgamma, float, double, half>);
  table.add("Digamma", kOfOne, elementwise<Digamma, float, double, half>);
  table.add("Polygamma", kFloatDouble, elementwise<Polygamma, float, double>);
  table.add("Zeta", kFloatDouble, elementwise<Zeta, float, double>);
  table.add("Asin", kFloating, kOfFloating<fn::Asin>);
  table.add("Acos", kFloating, kOfFloating<fn::Acos>);
  table.add("Atan", kFloating, kOfFloating<fn::Atan>);
  table.add("Asinh", kFloating, kOfFloating<fn::Asinh>);
  table.add("Acosh", kFloating, kOfFloating<fn::Acosh>);
  table.add("Atanh", kFloating, kOfFloating<fn::Atanh>);
}

}  // namespace emplace::cuda
