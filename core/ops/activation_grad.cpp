// The gradients of activation functions and of a few others, from the function's result (or its argument) and the
// gradient of the result.
#include "core/base/cat.h"
#include "core/ops/elementwise.h"
#include "core/ops/selu_constants.h"
#include "core/ops/vector_math.h"

namespace emplace {
namespace {

template <class T>
EMPLACE_INLINE T conjugate(T x) {
  if constexpr (kIsComplex<T>) return std::conj(x);
  else return x;
}

// Of (gradient, features or outputs).
struct ReluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) { return x > 0 ? dy : T(0); }
};
struct Relu6Grad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) { return x > 0 && x < T(6) ? dy : T(0); }
};
struct EluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T y) { return y < 0 ? (y + T(1)) * dy : dy; }
};
struct SeluGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T y) { return y < 0 ? dy * (y + T(kSeluScaleAlpha)) : dy * T(kSeluScale); }
};
struct SoftplusGrad {
  template <class T>
  static constexpr bool kScalarOnly = kLibraryMath<T>;
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) { return dy / (exp_of(-x) + T(1)); }
};
struct SoftsignGrad {
  template <class T>
  EMPLACE_INLINE static T apply(T dy, T x) {
    const T base = T(1) + std::fabs(x);
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
    return dy * y * (T(1) - y);
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
struct SqrtGrad : SameSize {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    const T half_dy = dy * T(0.5f);
    return dy == T(0) ? half_dy : half_dy / conjugate(y);
  }
};
struct RsqrtGrad : SameSize {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    const T z = conjugate(y);
    return (dy * T(-0.5f)) * z * (z * z);
  }
};
struct ReciprocalGrad : SameSize {
  template <class T>
  EMPLACE_INLINE static T apply(T y, T dy) {
    const T z = conjugate(y);
    return dy * (-z) * z;
  }
};

OpDef activation_gradient(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(shape_merged).may_overwrite_input()
      .sample("gradients=f32[2,3] uniform(-2,2); features=f32[2,3] uniform(-2,2)");
}
template <class F>
OpDef function_gradient(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(shape_unchanged).may_overwrite_input()
      .cpu(kFloating | kComplexes, elementwise<F, float, double, complex64, complex128>)
      .sample("y=f32[2,3] uniform(0.1,2); dy=f32[2,3] uniform(-2,2)");
}
template <class F>
constexpr KernelMaker kReal = elementwise<F, float, double, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kFloatingOnly = elementwise<F, float, double>;

}  // namespace

OpDef relu_grad_op() { return activation_gradient("ReluGrad", "The gradient where features > 0, else 0.").cpu(kRealNumbers, kReal<ReluGrad>); }
OpDef relu6_grad_op() { return activation_gradient("Relu6Grad", "The gradient where 0 < features < 6, else 0.").cpu(kRealNumbers, kReal<Relu6Grad>); }
OpDef elu_grad_op() { return activation_gradient("EluGrad", "The gradient of Elu from its outputs.").cpu(kFloating, kFloatingOnly<EluGrad>); }
OpDef selu_grad_op() { return activation_gradient("SeluGrad", "The gradient of Selu from its outputs.").cpu(kFloating, kFloatingOnly<SeluGrad>); }
OpDef softplus_grad_op() { return activation_gradient("SoftplusGrad", "The gradient times sigmoid(features).").cpu(kFloating, kFloatingOnly<SoftplusGrad>); }
OpDef softsign_grad_op() { return activation_gradient("SoftsignGrad", "The gradient divided by (1 + |features|)^2.").cpu(kFloating, kFloatingOnly<SoftsignGrad>); }
OpDef sigmoid_grad_op() { return function_gradient<SigmoidGrad>("SigmoidGrad", "dy * y * (1 - y), with y = sigmoid(x)."); }
OpDef tanh_grad_op() { return function_gradient<TanhGrad>("TanhGrad", "dy * (1 - y * y), with y = tanh(x)."); }
OpDef sqrt_grad_op() { return function_gradient<SqrtGrad>("SqrtGrad", "dy * 0.5 / y, with y = sqrt(x)."); }
OpDef rsqrt_grad_op() { return function_gradient<RsqrtGrad>("RsqrtGrad", "dy * -0.5 * y^3, with y = 1 / sqrt(x)."); }
OpDef reciprocal_grad_op() { return function_gradient<ReciprocalGrad>("ReciprocalGrad", "-dy * y * y, with y = 1 / x."); }
OpDef inv_grad_op() { return function_gradient<ReciprocalGrad>("InvGrad", "-dy * y * y, with y = 1 / x."); }

}  // namespace emplace
