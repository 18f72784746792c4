// Exp, Expm1, Log, Log1p, Tanh, Sigmoid, Erf, Erfc.
#include "core/ops/formulas/exponential.h"
#include "core/op/gradient_context.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

struct Erfc : fn::Erfc {
  static constexpr double kCostNs = 10;
  template <class T>
  static constexpr bool kScalarOnly = true;
};

template <class F>
OpDef with_complex(std::string_view name, std::string_view doc) {
  return unary_op(name, doc).cpu(kFloating | kComplexes, elementwise<F, float, double, complex64, complex128>);
}

Status exp_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), g.output(0)));
  return g.status();
}

Status expm1_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), g.add("Exp", {g.input(0)})));
  return g.status();
}

Status log_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), g.add("Reciprocal", {g.input(0)})));
  return g.status();
}

Status log1p_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value one = g.scalar(g.type(g.input(0)), 1, "add/x");
  Value sum = g.add("AddV2", {one, g.input(0)}, {}, "add");
  g.set(0, g.mul(g.grad(0), g.add("Reciprocal", {sum})));
  return g.status();
}

Status tanh_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.add("TanhGrad", {g.output(0), g.grad(0)}));
  return g.status();
}

Status sigmoid_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.add("SigmoidGrad", {g.output(0), g.grad(0)}));
  return g.status();
}

// dx = dy * factor * exp(-x^2)
Status gaussian_gradient(GradientContext& g, double factor) {
  Value scale = g.scalar(g.type(g.grad(0)), factor);
  g.wait_for(g.grad(0));
  Value scaled = g.mul(g.grad(0), scale);
  g.set(0, g.mul(scaled, g.add("Exp", {g.neg(g.add("Square", {g.input(0)}))})));
  return g.status();
}
constexpr double kTwoOverRootPi = 1.1283791670955126;
Status erf_gradient(GradientContext& g) { return gaussian_gradient(g, kTwoOverRootPi); }
Status erfc_gradient(GradientContext& g) { return gaussian_gradient(g, -kTwoOverRootPi); }

}  // namespace

OpDef exp_op() { return with_complex<Transcendental<fn::Exp>>("Exp", "e to the power of x.").gradient(exp_gradient); }
OpDef expm1_op() {
  return with_complex<Transcendental<fn::Expm1>>("Expm1", "exp(x) - 1, accurate near 0.").gradient(expm1_gradient);
}
OpDef log_op() { return with_complex<Transcendental<fn::Log>>("Log", "The natural logarithm.").gradient(log_gradient); }
OpDef log1p_op() {
  return with_complex<Transcendental<fn::Log1p>>("Log1p", "log(1 + x), accurate near 0.").gradient(log1p_gradient);
}
OpDef tanh_op() {
  return with_complex<Transcendental<fn::Tanh>>("Tanh", "The hyperbolic tangent.").gradient(tanh_gradient);
}
OpDef sigmoid_op() {
  return unary_op("Sigmoid", "1 / (1 + exp(-x)).")
      .cpu(kFloating | kComplexes,
           elementwise<Transcendental<fn::Sigmoid>, float, double, half, bfloat16, complex64, complex128>)
      .gradient(sigmoid_gradient);
}
OpDef erf_op() {
  return unary_op("Erf", "The Gauss error function.")
      .cpu(kFloating, elementwise<Transcendental<fn::Erf>, float, double>)
      .gradient(erf_gradient);
}
OpDef erfc_op() {
  return unary_op("Erfc", "1 - Erf(x), accurate for large x.")
      .cpu(kFloating, elementwise<Erfc, float, double>)
      .gradient(erfc_gradient);
}

}  // namespace emplace
