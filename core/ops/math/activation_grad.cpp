// The gradients of activation functions and of a few others, from the function's result (or its argument) and the
// gradient of the result.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/ops/kit/elementwise.h"
#include "core/ops/kit/vector_math.h"
#include "core/ops/math/selu_constants.h"

namespace emplace {
namespace {

template <class T>
EMPLACE_INLINE T conjugate(T x) {
  if constexpr (kIsComplex<T>)
    return std::conj(x);
  else
    return x;
}

// The order of operations is TensorFlow's: halves round after each of them, and where one overflows the result shows
// it.

// Of (gradient, features or outputs). TensorFlow multiplies by 0 or 1, so an infinite gradient becomes NaN where it is
// stopped.
struct ReluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    return dy * T(x > 0);
  }
};
struct Relu6Grad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    return dy * T(x > 0 && x < T(6));
  }
};
struct EluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T y) {
    return y < 0 ? (y + T(1)) * dy : dy;
  }
};
struct SeluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T y) {
    return y < T(0) ? dy * (y + T(kSeluScaleAlpha)) : dy * T(kSeluScale);
  }
};
struct SoftplusGrad {
  template <class T>
  static constexpr bool kScalarOnly = kLibraryMath<T>;
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    return dy / (exp_of(T(0) - x) + T(1));
  }
};
struct SoftsignGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    const T base = T(1) + magnitude(x);
    return dy / (base * base);
  }
};

// Of (output, gradient); shapes need not be equal, only sizes.
struct SameSize {
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
struct SigmoidGrad : SameSize {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    return dy * (y * (T(1) - y));
  }
};
struct TanhGrad : SameSize {
  template <class T>
  static constexpr bool kScalarOnly = true;  // where y is near 1, fusing the multiplication would change many digits
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};
// The following give 0 where the gradient is 0, whatever y: SelectV2 may have kept it from a y that is infinite.
struct SqrtGrad : SameSize {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    return dy == T(0) ? T(0) : dy * (T(0.5f) / conjugate(y));
  }
};
struct RsqrtGrad : SameSize {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    const T z = conjugate(y);
    return dy == T(0) ? T(0) : (dy * z) * (T(-0.5f) * (z * z));
  }
};
struct ReciprocalGrad : SameSize {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    const T z = conjugate(y);
    return dy == T(0) ? T(0) : (z * z) * (T(0) - dy);
  }
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
      .cpu(kFloating | kComplexes, elementwise<F, float, double, half, bfloat16, complex64, complex128>)
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
      .cpu(kRealNumbers, kReal<ReluGrad>)
      .gradient(step_gradient);
}
OpDef relu6_grad_op() {
  return activation_gradient("Relu6Grad", "The gradient where 0 < features < 6, else 0.")
      .cpu(kRealNumbers, kReal<Relu6Grad>)
      .gradient(step_gradient);
}
OpDef elu_grad_op() {
  return activation_gradient("EluGrad", "The gradient of Elu from its outputs.")
      .cpu(kFloating, kFloatingOnly<EluGrad>)
      .gradient(below_zero_gradient);
}
OpDef selu_grad_op() {
  return activation_gradient("SeluGrad", "The gradient of Selu from its outputs.")
      .cpu(kFloating, kRoundingHalves<SeluGrad>)
      .gradient(below_zero_gradient);
}
OpDef softplus_grad_op() {
  return activation_gradient("SoftplusGrad", "The gradient times sigmoid(features).")
      .cpu(kFloating, kRoundingHalves<SoftplusGrad>)
      .gradient(softplus_grad_gradient);
}
OpDef softsign_grad_op() {
  return activation_gradient("SoftsignGrad", "The gradient divided by (1 + |features|)^2.")
      .cpu(kFloating, kRoundingHalves<SoftsignGrad>);
}
OpDef sigmoid_grad_op() {
  return function_gradient<SigmoidGrad>("SigmoidGrad", "dy * y * (1 - y), with y = sigmoid(x).")
      .gradient(sigmoid_grad_gradient);
}
OpDef tanh_grad_op() {
  return function_gradient<TanhGrad>("TanhGrad", "dy * (1 - y * y), with y = tanh(x).").gradient(square_grad_gradient);
}
OpDef sqrt_grad_op() {
  return function_gradient<SqrtGrad>("SqrtGrad", "dy * 0.5 / y, with y = sqrt(x).").gradient(sqrt_grad_gradient);
}
OpDef rsqrt_grad_op() {
  return function_gradient<RsqrtGrad>("RsqrtGrad", "dy * -0.5 * y^3, with y = 1 / sqrt(x).")
      .gradient(rsqrt_grad_gradient);
}
OpDef reciprocal_grad_op() {
  return function_gradient<ReciprocalGrad>("ReciprocalGrad", "-dy * y * y, with y = 1 / x.")
      .gradient(square_grad_gradient);
}
OpDef inv_grad_op() {
  return function_gradient<ReciprocalGrad>("InvGrad", "-dy * y * y, with y = 1 / x.").gradient(square_grad_gradient);
}

}  // namespace emplace
