// Sine and its relatives, circular and hyperbolic, and Atan2: the C++ library's, but for Sin and Cos of float.
#include "core/op/gradient_context.h"
#include "core/ops/formulas/division.h"
#include "core/ops/formulas/exponential.h"
#include "core/ops/kit/guarded_tile.h"

namespace emplace {
namespace {

template <class F>
struct LibraryFunction : F {
  static constexpr double kCostNs = 8;
  template <class T>
  static constexpr bool kScalarOnly = true;
};

/// Function, sin(x + turn pi/2): the nearest multiple of pi/2 is taken off in double, then one of two Taylor series.
template <class Function, int32_t turn>
struct FastSine {
  using Library = LibraryFunction<Function>;
  static constexpr double kCostNs = 1;
  static constexpr float kLimit = 0x1p20f;  // products with the first part of pi/2 stay exact
  EMPLACE_INLINE static bool ordinary(float x) { return std::fabs(x) <= kLimit; }
  EMPLACE_INLINE static float apply(float x) {
    const double wide = ordinary(x) ? x : 0.0f;
    const double n = (wide * 0.63661977236758134308 + kWholeNumbers) - kWholeNumbers;
    const double r = (wide - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34;
    const int32_t quarter = static_cast<int32_t>(static_cast<float>(n)) + turn;
    const double square = r * r;
    const double sine = r * (1 + square * polynomial(square, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                                     -1.0 / 39916800));  // keeps -0
    const double cosine =
        1 + square * polynomial(square, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600);
    const float narrow_sine = static_cast<float>(sine), narrow_cosine = static_cast<float>(cosine);
    const float value = quarter & 1 ? narrow_cosine : narrow_sine;
    return quarter & 2 ? -value : value;
  }
};

template <class F>
OpDef of(std::string_view name, std::string_view doc) {
  return unary_op(name, doc).cpu(kFloating | kComplexes,
                                 elementwise<LibraryFunction<F>, float, double, complex64, complex128>);
}

template <class F>
OpDef fast(std::string_view name, std::string_view doc) {
  return unary_op(name, doc).cpu(kFloating | kComplexes, guarded<F, float, double, complex64, complex128>);
}

// dx = dy * f(x)
Status times_function(GradientContext& g, std::string_view function) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), g.add(function, {g.input(0)})));
  return g.status();
}
Status sin_gradient(GradientContext& g) { return times_function(g, "Cos"); }
Status sinh_gradient(GradientContext& g) { return times_function(g, "Cosh"); }
Status cosh_gradient(GradientContext& g) { return times_function(g, "Sinh"); }

Status cos_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value minus = g.neg(g.grad(0));
  g.set(0, g.mul(minus, g.add("Sin", {g.input(0)})));
  return g.status();
}

Status tan_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value secant = g.add("Reciprocal", {g.add("Cos", {g.input(0)})});
  g.set(0, g.mul(g.add("Square", {secant}), g.grad(0)));
  return g.status();
}

// 1 - x^2
Value one_minus_square(GradientContext& g) {
  Value square = g.add("Square", {g.input(0)});
  return g.add("Sub", {g.scalar(g.type(g.grad(0)), 1), square});
}

Status asin_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), g.add("Reciprocal", {g.add("Sqrt", {one_minus_square(g)})})));
  return g.status();
}

Status acos_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value inverse = g.add("Reciprocal", {g.add("Sqrt", {one_minus_square(g)})});
  g.set(0, g.mul(g.neg(g.grad(0)), inverse));
  return g.status();
}

Status atan_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value square = g.add("Square", {g.input(0)});
  Value sum = g.add("AddV2", {g.scalar(g.type(g.grad(0)), 1), square}, {}, "Add");
  g.set(0, g.mul(g.grad(0), g.add("Reciprocal", {sum})));
  return g.status();
}

Status atanh_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), g.add("Reciprocal", {one_minus_square(g)})));
  return g.status();
}

// dx = dy / f(y)
Status over_function(GradientContext& g, std::string_view function) {
  g.wait_for(g.grad(0));
  g.set(0, g.add("RealDiv", {g.grad(0), g.add(function, {g.output(0)})}, {}, "truediv"));
  return g.status();
}
Status asinh_gradient(GradientContext& g) { return over_function(g, "Cosh"); }
Status acosh_gradient(GradientContext& g) { return over_function(g, "Sinh"); }

Status atan2_gradient(GradientContext& g) {
  Value y = g.input(0), x = g.input(1);
  Value squares = g.add("AddV2", {g.add("Square", {x}), g.add("Square", {y})}, {}, "add");
  Value scaled = g.add("RealDiv", {g.grad(0), squares}, {}, "truediv");
  Value gy = g.mul(x, scaled);
  g.set_binary(gy, g.mul(g.neg(y), scaled));
  return g.status();
}

}  // namespace

OpDef sin_op() { return fast<FastSine<fn::Sin, 0>>("Sin", "The sine.").gradient(sin_gradient); }
OpDef cos_op() { return fast<FastSine<fn::Cos, 1>>("Cos", "The cosine.").gradient(cos_gradient); }
OpDef tan_op() { return of<fn::Tan>("Tan", "The tangent.").gradient(tan_gradient); }
OpDef sinh_op() { return of<fn::Sinh>("Sinh", "The hyperbolic sine.").gradient(sinh_gradient); }
OpDef cosh_op() { return of<fn::Cosh>("Cosh", "The hyperbolic cosine.").gradient(cosh_gradient); }
OpDef asin_op() { return of<fn::Asin>("Asin", "The inverse sine.").gradient(asin_gradient); }
OpDef acos_op() { return of<fn::Acos>("Acos", "The inverse cosine.").gradient(acos_gradient); }
OpDef atan_op() { return of<fn::Atan>("Atan", "The inverse tangent.").gradient(atan_gradient); }
OpDef asinh_op() { return of<fn::Asinh>("Asinh", "The inverse hyperbolic sine.").gradient(asinh_gradient); }
OpDef acosh_op() { return of<fn::Acosh>("Acosh", "The inverse hyperbolic cosine.").gradient(acosh_gradient); }
OpDef atanh_op() { return of<fn::Atanh>("Atanh", "The inverse hyperbolic tangent.").gradient(atanh_gradient); }
OpDef atan2_op() {
  return binary_op("Atan2", "The angle of the point (x, y), between -pi and pi.")
      .cpu(kFloating, elementwise<LibraryFunction<fn::Atan2>, float, double>)
      .gradient(atan2_gradient);
}

}  // namespace emplace
