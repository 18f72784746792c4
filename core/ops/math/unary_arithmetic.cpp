// Abs, Neg, Conj, Sign, Square, Sqrt, Rsqrt, Reciprocal, Inv, and rounding to integers.
#include "core/op/gradient_context.h"
#include "core/ops/formulas/unary.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

constexpr DTypeSet kFloatingAndComplex = kFloating | kComplexes;

template <class F>
constexpr KernelMaker kFloatingOnly = elementwise<F, float, double>;
template <class F>
constexpr KernelMaker kWithComplex = elementwise<F, float, double, complex64, complex128>;

Status abs_gradient(GradientContext& g) {
  g.set(0, g.mul(g.grad(0), g.add("Sign", {g.input(0)})));
  return g.status();
}

Status neg_gradient(GradientContext& g) {
  g.set(0, g.neg(g.grad(0)));
  return g.status();
}

Status conj_gradient(GradientContext& g) {
  g.set(0, g.add("Conj", {g.grad(0)}));
  return g.status();
}

// Flat on both sides of 0: zeros, which TensorFlow hands on rather than to stop.
Status sign_gradient(GradientContext& g) {
  g.set(0, g.zeros_like(g.input(0)));
  return g.status();
}

Status square_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value two = g.scalar(g.type(g.input(0)), 2);
  g.set(0, g.add("Mul", {g.grad(0), g.add("Mul", {g.input(0), two})}));
  return g.status();
}

Status sqrt_gradient(GradientContext& g) {
  g.set(0, g.add("SqrtGrad", {g.output(0), g.grad(0)}));
  return g.status();
}

Status rsqrt_gradient(GradientContext& g) {
  g.set(0, g.add("RsqrtGrad", {g.output(0), g.grad(0)}));
  return g.status();
}

Status reciprocal_gradient(GradientContext& g) {
  g.set(0, g.add("ReciprocalGrad", {g.output(0), g.grad(0)}));
  return g.status();
}

}  // namespace

OpDef abs_op() {
  return unary_op("Abs", "The absolute value.")
      .cpu(kFloating | kSigned, elementwise<fn::Abs, float, double, int32_t, int64_t>)
      .gradient(abs_gradient);
}
OpDef neg_op() {
  return unary_op("Neg", "-x.")
      .traits({.of_sums = OfSums::kNegates})
      .cpu(kFloatingAndComplex | kSigned, elementwise<fn::Neg, float, double, int32_t, int64_t, complex64, complex128>)
      .gradient(neg_gradient);
}
OpDef sign_op() {
  return unary_op("Sign", "-1, 0 or 1 as x is below, at or above 0; NaN stays; complex numbers: x / |x|.")
      .cpu(kFloatingAndComplex | kSigned, elementwise<fn::Sign, float, double, int32_t, int64_t, complex64, complex128>)
      .gradient(sign_gradient);
}
OpDef square_op() {
  return unary_op("Square", "x * x.")
      .cpu(kNumbers, elementwise<fn::Square, float, double, int32_t, int64_t, uint64_t, complex64, complex128>)
      .gradient(square_gradient);
}
OpDef sqrt_op() {
  return unary_op("Sqrt", "The square root.").cpu(kFloatingAndComplex, kWithComplex<fn::Sqrt>).gradient(sqrt_gradient);
}
OpDef rsqrt_op() {
  return unary_op("Rsqrt", "1 / sqrt(x).").cpu(kFloatingAndComplex, kWithComplex<fn::Rsqrt>).gradient(rsqrt_gradient);
}
OpDef reciprocal_op() {
  return unary_op("Reciprocal", "1 / x.")
      .cpu(kFloatingAndComplex, kWithComplex<fn::Reciprocal>)
      .gradient(reciprocal_gradient);
}
OpDef conj_op() {
  return OpDef("Conj")
      .doc("Complex numbers with the other sign of their imaginary parts.")
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(kComplexes, elementwise<fn::Conj, complex64, complex128>)
      .gradient(conj_gradient);
}
OpDef inv_op() {
  return unary_op("Inv", "1 / x; the older name of Reciprocal.")
      .cpu(kFloatingAndComplex, kWithComplex<fn::Reciprocal>)
      .gradient(reciprocal_gradient);
}
OpDef floor_op() {
  return unary_op("Floor", "The largest integer not above x.")
      .cpu(kFloating, kFloatingOnly<fn::Floor>)
      .not_differentiable();
}
OpDef ceil_op() {
  return unary_op("Ceil", "The smallest integer not below x.")
      .cpu(kFloating, kFloatingOnly<fn::Ceil>)
      .not_differentiable();
}
OpDef round_op() {
  return unary_op("Round", "The nearest integer, halfway cases to even; 0 for integers, as in TensorFlow 2.21.")
      .cpu(kFloating, kFloatingOnly<fn::Rint>)
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, elementwise<fn::RoundInteger, int32_t, int64_t>)
      .not_differentiable();
}
OpDef rint_op() {
  return unary_op("Rint", "The nearest integer, halfway cases to even.")
      .cpu(kFloatDouble, kFloatingOnly<fn::Rint>)
      .not_differentiable();
}
OpDef is_nan_op() {
  return unary_op("IsNan", "Is x NaN?").cpu(kFloating, kFloatingOnly<fn::IsNan>).not_differentiable();
}
OpDef is_inf_op() {
  return unary_op("IsInf", "Is x an infinity?").cpu(kFloating, kFloatingOnly<fn::IsInf>).not_differentiable();
}
OpDef is_finite_op() {
  return unary_op("IsFinite", "Is x neither NaN nor an infinity?")
      .cpu(kFloating, kFloatingOnly<fn::IsFinite>)
      .not_differentiable();
}

}  // namespace emplace
