// Relu and its relatives: elementwise activation functions of neural networks.
#include <algorithm>
#include <bit>
#include <limits>

#include "core/op/gradient_context.h"
#include "core/ops/formulas/activation.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

/// A half between 0 and `most`, by its bits. Of two zeros TensorFlow takes x in these types, so that -0 stays; numbers
/// below bfloat16's normal range count as zeros.
template <class T>
EMPLACE_INLINE T clamped_half(T x, T most) {
  constexpr uint16_t kSmallest = std::is_same_v<T, half> ? 1 : 0x0080,
                     kInfinity = std::is_same_v<T, half> ? 0x7c00 : 0x7f80;
  const uint16_t sign = x.bits & 0x8000, size = x.bits & 0x7fff;
  const uint16_t inside = sign ? 0 : std::min(size, most.bits);
  return std::bit_cast<T>(size < kSmallest ? sign : size > kInfinity ? x.bits : inside);
}

// fn::Relu and fn::Relu6, which they give but for these zeros.
struct Relu {
  static constexpr ElementStep kStep = ElementStep::kRelu;
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (kIsHalf<T>)
      return clamped_half(x, T(std::numeric_limits<float>::infinity()));
    else
      return fn::Relu::apply(x);
  }
};
struct Relu6 {
  static constexpr ElementStep kStep = ElementStep::kRelu6;
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (kIsHalf<T>)
      return clamped_half(x, T(6));
    else
      return fn::Relu6::apply(x);
  }
  /// By bits: in float, TensorFlow keeps denormals here.
  EMPLACE_INLINE static float apply(float x) {
    const int32_t bits = std::bit_cast<int32_t>(x);
    return std::bit_cast<float>(x < 0.0f ? 0 : x > 6.0f ? std::bit_cast<int32_t>(6.0f) : bits);
  }
};
template <class F>
constexpr KernelMaker kReal = elementwise<F, float, double, half, bfloat16, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kRoundingHalves = elementwise<F, float, double, half, bfloat16>;

Status relu_gradient(GradientContext& g) {
  g.set(0, g.add("ReluGrad", {g.grad(0), g.output(0)}));
  return g.status();
}

Status relu6_gradient(GradientContext& g) {
  g.set(0, g.add("Relu6Grad", {g.grad(0), g.output(0)}));
  return g.status();
}

Status elu_gradient(GradientContext& g) {
  g.set(0, g.add("EluGrad", {g.grad(0), g.output(0)}));
  return g.status();
}

Status selu_gradient(GradientContext& g) {
  g.set(0, g.add("SeluGrad", {g.grad(0), g.output(0)}));
  return g.status();
}

Status softplus_gradient(GradientContext& g) {
  g.set(0, g.mul(g.grad(0), g.add("Sigmoid", {g.input(0)})));
  return g.status();
}

Status softsign_gradient(GradientContext& g) {
  g.set(0, g.add("SoftsignGrad", {g.grad(0), g.input(0)}));
  return g.status();
}

}  // namespace

OpDef relu_op() {
  return unary_op("Relu", "max(x, 0); NaN stays.").cpu(kRealNumbers, kReal<Relu>).gradient(relu_gradient);
}
OpDef relu6_op() {
  return unary_op("Relu6", "min(max(x, 0), 6); NaN stays.").cpu(kRealNumbers, kReal<Relu6>).gradient(relu6_gradient);
}
OpDef elu_op() {
  return unary_op("Elu", "x where x >= 0, else exp(x) - 1.")
      .cpu(kFloating, kRoundingHalves<Transcendental<fn::Elu>>)
      .gradient(elu_gradient);
}
OpDef selu_op() {
  return unary_op("Selu", "scale * x where x >= 0, else scale * alpha * (exp(x) - 1), with the constants of the paper.")
      .cpu(kFloating, kRoundingHalves<Transcendental<fn::Selu>>)
      .gradient(selu_gradient);
}
OpDef softplus_op() {
  return unary_op("Softplus", "log(1 + exp(x)).")
      .cpu(kFloating, kRoundingHalves<Transcendental<fn::Softplus>>)
      .gradient(softplus_gradient);
}
OpDef softsign_op() {
  return unary_op("Softsign", "x / (1 + |x|).")
      .cpu(kFloating, kRoundingHalves<fn::Softsign>)
      .gradient(softsign_gradient);
}

}  // namespace emplace
