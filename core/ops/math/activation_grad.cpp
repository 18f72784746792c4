// The gradients of activation functions and of a few others, from the function's result (or its argument) and the
// gradient of the result.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/ops/formulas/activation.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

template <class F>
struct Exponential : F {
  template <class T>
  static constexpr bool kScalarOnly = kLibraryMath<T>;
};
/// F of (output, gradient), whose shapes need not be equal, only their sizes.
template <class F>
struct OfOutput : F {
  static Status adapt_shapes(const KernelContext& c, std::span<Shape> inputs) {
    const int64_t left = c.input(0).num_elements(), right = c.input(1).num_elements();
    if (left != right) {
      return invalid_argument(
          cat("The two arguments to a cwise op must have same number of elements, got ", left, " and ", right));
    }
    inputs[1] = inputs[0];
    return ok_status();
  }
};
struct TanhGrad : fn::TanhGrad {
  template <class T>
  static constexpr bool kScalarOnly = true;  // where y is near 1, fusing the multiplication would change many digits
};

OpDef activation_gradient(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_merged)
      .may_overwrite_input()
      .sample("gradients=f32[2,3] uniform(-2,2); features=f32[2,3] uniform(-2,2)");
}
template <class F>
OpDef function_gradient(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(kFloating | kComplexes, elementwise<OfOutput<F>, float, double, half, bfloat16, complex64, complex128>)
      .sample("y=f32[2,3] uniform(0.1,2); dy=f32[2,3] uniform(-2,2)");
}
template <class F>
constexpr KernelMaker kReal = elementwise<F, float, double, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kFloatingOnly = elementwise<F, float, double>;
template <class F>
constexpr KernelMaker kRoundingHalves = elementwise<F, float, double, half, bfloat16>;

Value times(GradientContext& g, double factor, Value v) { return g.mul(g.scalar(g.type(v), factor, "mul/x"), v); }

// Of dy * step(features): the step's own derivative counts as 0.
Status step_gradient(GradientContext& g) {
  g.set(0, g.add(g.op(), {g.grad(0), g.input(1)}));
  g.set(1, g.zeros_like(g.input(1)));
  return g.status();
}

// Of dy * (y + c) where y < 0, else dy.
Status below_zero_gradient(GradientContext& g) {
  Value dy = g.input(0), y = g.input(1);
  g.set(0, g.add(g.op(), {g.grad(0), y}));
  Value mask = g.add("Less", {y, g.scalar(g.type(y), 0, "Less/y")});
  g.set(1, g.add("Select", {mask, g.mul(g.grad(0), dy), g.zeros_like(y)}));
  return g.status();
}

Status softplus_grad_gradient(GradientContext& g) {
  Value dy = g.input(0), x = g.input(1);
  g.set(0, g.add("SoftplusGrad", {g.grad(0), x}));
  Value two = g.add("AddV2", {g.add("Exp", {g.neg(x)}), g.scalar(g.type(x), 2, "add/y")}, {}, "add");
  Value sum = g.add("AddV2", {two, g.add("Exp", {x})}, {}, "add");
  g.set(1, g.add("RealDiv", {g.mul(g.grad(0), dy), sum}, {}, "truediv"));
  return g.status();
}

Status sigmoid_grad_gradient(GradientContext& g) {
  Value y = g.input(0);
  g.wait_for(g.grad(0));
  Value scaled = g.mul(g.grad(0), g.input(1));
  g.set(0, g.add("Sub", {scaled, g.mul(times(g, 2, scaled), y)}, {}, "sub"));
  g.set(1, g.add("SigmoidGrad", {y, g.grad(0)}));
  return g.status();
}

// Of dy * (1 - y^2) and of -dy * y^2: both -2 * dy * y.
Status square_grad_gradient(GradientContext& g) {
  Value y = g.input(0);
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.mul(times(g, -2, g.grad(0)), g.input(1)), y));
  g.set(1, g.add(g.op(), {y, g.grad(0)}));
  return g.status();
}

Status sqrt_grad_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value quotient = g.add("RealDiv", {g.grad(0), g.input(0)}, {}, "truediv");
  g.set(0, g.mul(g.neg(quotient), g.output(0)));
  g.set(1, times(g, 0.5, quotient));
  return g.status();
}

Status rsqrt_grad_gradient(GradientContext& g) {
  Value y = g.input(0);
  g.wait_for(g.grad(0));
  Value scaled = g.mul(times(g, -1.5, g.grad(0)), g.input(1));
  g.set(0, g.mul(scaled, g.add("Square", {y})));
  g.set(1, g.add("RsqrtGrad", {y, g.grad(0)}));
  return g.status();
}

}  // namespace

OpDef relu_grad_op() {
  return activation_gradient("ReluGrad", "The gradient where features > 0, else 0.")
      .cpu(kRealNumbers, kReal<fn::ReluGrad>)
      .gradient(step_gradient);
}
OpDef relu6_grad_op() {
  return activation_gradient("Relu6Grad", "The gradient where 0 < features < 6, else 0.")
      .cpu(kRealNumbers, kReal<fn::Relu6Grad>)
      .gradient(step_gradient);
}
OpDef elu_grad_op() {
  return activation_gradient("EluGrad", "The gradient of Elu from its outputs.")
      .cpu(kFloating, kFloatingOnly<fn::EluGrad>)
      .gradient(below_zero_gradient);
}
OpDef selu_grad_op() {
  return activation_gradient("SeluGrad", "The gradient of Selu from its outputs.")
      .cpu(kFloating, kRoundingHalves<fn::SeluGrad>)
      .gradient(below_zero_gradient);
}
OpDef softplus_grad_op() {
  return activation_gradient("SoftplusGrad", "The gradient times sigmoid(features).")
      .cpu(kFloating, kRoundingHalves<Exponential<fn::SoftplusGrad>>)
      .gradient(softplus_grad_gradient);
}
OpDef softsign_grad_op() {
  return activation_gradient("SoftsignGrad", "The gradient divided by (1 + |features|)^2.")
      .cpu(kFloating, kRoundingHalves<fn::SoftsignGrad>);
}
OpDef sigmoid_grad_op() {
  return function_gradient<fn::SigmoidGrad>("SigmoidGrad", "dy * y * (1 - y), with y = sigmoid(x).")
      .gradient(sigmoid_grad_gradient);
}
OpDef tanh_grad_op() {
  return function_gradient<TanhGrad>("TanhGrad", "dy * (1 - y * y), with y = tanh(x).").gradient(square_grad_gradient);
}
OpDef sqrt_grad_op() {
  return function_gradient<fn::SqrtGrad>("SqrtGrad", "dy * 0.5 / y, with y = sqrt(x).").gradient(sqrt_grad_gradient);
}
OpDef rsqrt_grad_op() {
  return function_gradient<fn::RsqrtGrad>("RsqrtGrad", "dy * -0.5 * y^3, with y = 1 / sqrt(x).")
      .gradient(rsqrt_grad_gradient);
}
OpDef reciprocal_grad_op() {
  return function_gradient<fn::ReciprocalGrad>("ReciprocalGrad", "-dy * y * y, with y = 1 / x.")
      .gradient(square_grad_gradient);
}
OpDef inv_grad_op() {
  return function_gradient<fn::ReciprocalGrad>("InvGrad", "-dy * y * y, with y = 1 / x.")
      .gradient(square_grad_gradient);
}

}  // namespace emplace
