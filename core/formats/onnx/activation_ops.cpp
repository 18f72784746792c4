// Part of core/formats/onnx/op_table.h: activations, softmax and its relatives.
#include <cmath>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

Endpoints activation(OnnxBlock& b, std::string_view op) { return {b.math(op, {b.input(0)})}; }

/// f(x) where x >= 0, g(x) elsewhere.
Endpoint by_sign(OnnxBlock& b, Endpoint x, Endpoint positive, Endpoint negative) {
  return b.select(b.math("Less", {x, b.like(x, 0)}), negative, positive);
}

/// exp(x) - 1, and x itself where only the other branch counts.
Endpoint exp_minus_1(OnnxBlock& b, Endpoint x) { return b.math("Expm1", {b.math("Minimum", {x, b.like(x, 0)})}); }

Endpoints elu(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const float alpha = b.number("alpha", 1);
  if (alpha == 1) return {b.math("Elu", {x})};
  return {by_sign(b, x, x, b.mul(b.like(x, alpha), exp_minus_1(b, x)))};
}

Endpoints selu(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const float alpha = b.number("alpha", 1.67326319217681884765625F),
              gamma = b.number("gamma", 1.05070102214813232421875F);
  return {b.mul(b.like(x, gamma), by_sign(b, x, x, b.mul(b.like(x, alpha), exp_minus_1(b, x))))};
}

Endpoints celu(OnnxBlock& b) {
  const Endpoint x = b.input(0), alpha = b.like(x, b.number("alpha", 1));
  return {by_sign(b, x, x, b.mul(alpha, exp_minus_1(b, b.div(x, alpha))))};
}

Endpoints leaky_relu(OnnxBlock& b) {
  return {b.math("LeakyRelu", {b.input(0)}, {{"alpha", attr_of(b.number("alpha", 0.01F))}})};
}

Endpoints prelu(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  Endpoint slope = b.input(1);
  // Before version 7 several slopes are one for each channel; later they broadcast.
  if (b.version() < 7 && b.rank(slope) == 1 && b.dim(slope, 0) != 1) slope = b.per_channel(slope, b.rank(x));
  return {by_sign(b, x, x, b.mul(x, slope))};
}

Endpoint clipped(OnnxBlock& b, Endpoint x) {
  return b.math("Minimum", {b.math("Maximum", {x, b.like(x, 0)}), b.like(x, 1)});
}

Endpoint hard_sigmoid_of(OnnxBlock& b, Endpoint x, float alpha, float beta) {
  return clipped(b, b.add(b.mul(x, b.like(x, alpha)), b.like(x, beta)));
}

Endpoints hard_sigmoid(OnnxBlock& b) {
  return {hard_sigmoid_of(b, b.input(0), b.number("alpha", 0.2F), b.number("beta", 0.5F))};
}

Endpoints hard_swish(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  return {b.mul(x, hard_sigmoid_of(b, x, 1.0F / 6, 0.5F))};
}

Endpoints mish(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  return {b.mul(x, b.math("Tanh", {b.math("Softplus", {x})}))};
}

Endpoints swish(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  return {b.mul(x, b.math("Sigmoid", {b.mul(x, b.like(x, b.number("alpha", 1)))}))};
}

/// Swish of the first, by the second.
Endpoints swi_glu(OnnxBlock& b) { return {b.mul(swish(b)[0], b.input(1))}; }

Endpoints gelu(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  Endpoint gate;
  if (b.text("approximate", "none") == "tanh") {
    const Endpoint cube = b.mul(b.like(x, 0.044715), b.mul(x, b.mul(x, x)));
    gate = b.math("Tanh", {b.mul(b.like(x, std::sqrt(2 / M_PI)), b.add(x, cube))});
  } else {
    gate = b.math("Erf", {b.mul(x, b.like(x, std::sqrt(0.5)))});
  }
  return {b.mul(b.mul(b.like(x, 0.5), x), b.add(gate, b.like(x, 1)))};
}

Endpoints thresholded_relu(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const Endpoint above = b.math("Greater", {x, b.like(x, b.number("alpha", 1))});
  return {b.select(above, x, b.like(x, 0))};
}

Endpoints shrink(OnnxBlock& b) {
  const Endpoint x = b.input(0), zero = b.like(x, 0);
  const double lambda = b.number("lambd", 0.5F);
  const Endpoint bias = b.like(x, b.number("bias", 0));
  const Endpoint above = b.select(b.math("Greater", {x, b.like(x, lambda)}), b.sub(x, bias), zero);
  return {b.select(b.math("Less", {x, b.like(x, -lambda)}), b.add(x, bias), above)};
}

/// Along one axis by turning it to the end; before version 13 all axes from `axis` on are one.
Endpoint along_axis(OnnxBlock& b, int64_t default_axis, Endpoint (*last)(OnnxBlock&, Endpoint)) {
  const Endpoint x = b.input(0);
  const int rank = b.rank(x);
  if (rank == 0) return b.fail("a scalar");
  int axis = b.axis(b.integer("axis", b.version() < 13 ? 1 : default_axis), rank);
  if (axis == rank - 1) return last(b, x);
  if (b.version() >= 13) {
    Ints perm;
    for (int i = 0; i < rank; ++i) perm.push_back(i);
    std::swap(perm[static_cast<size_t>(axis)], perm.back());
    return b.transpose(last(b, b.transpose(x, perm)), perm);
  }
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows = b.dim(x, i) < 0 || rows < 0 ? -1 : rows * b.dim(x, i);
  int64_t columns = 1;
  for (int i = axis; i < rank; ++i) columns = b.dim(x, i) < 0 || columns < 0 ? -1 : columns * b.dim(x, i);
  if (rows < 0 && columns < 0) return b.fail("sizes on both sides of the axis are not known");
  const Endpoint flat = b.reshape(x, {rows, rows < 0 ? columns : -1});
  return b.reshape_to(last(b, flat), b.shape_of(x));
}

Endpoint softmax_last(OnnxBlock& b, Endpoint x) { return b.math("Softmax", {x}); }
Endpoint log_softmax_last(OnnxBlock& b, Endpoint x) { return b.math("LogSoftmax", {x}); }

Endpoint hardmax_last(OnnxBlock& b, Endpoint x) {
  const Endpoint best = b.make("ArgMax", {x, b.int32(-1)});
  const int64_t depth = b.dim(x, b.rank(x) - 1);
  const Endpoint size = depth >= 0 ? b.int32(depth) : b.cast(b.squeeze(b.dim_of(x, b.rank(x) - 1), {0}), DType::kInt32);
  return b.make("OneHot", {best, size, b.like(x, 1), b.like(x, 0)});
}

#define PLAIN(onnx, op)                                           \
  {                                                               \
    onnx, 1, [](OnnxBlock& b) { return activation(b, op); }, true \
  }

constexpr OnnxOp kActivationOps[] = {
    {"Celu", 12, celu, true},
    {"Elu", 6, elu, true},
    {"Gelu", 20, gelu, true},
    {"HardSigmoid", 6, hard_sigmoid, true},
    {"HardSwish", 14, hard_swish, true},
    {"Hardmax", 1, [](OnnxBlock& b) { return Endpoints{along_axis(b, -1, hardmax_last)}; }},
    {"LeakyRelu", 6, leaky_relu, true},
    {"LogSoftmax", 1, [](OnnxBlock& b) { return Endpoints{along_axis(b, -1, log_softmax_last)}; }},
    {"Mish", 18, mish, true},
    {"PRelu", 6, prelu, true},
    PLAIN("Relu", "Relu"),
    {"Selu", 6, selu, true},
    {"Shrink", 9, shrink, true},
    PLAIN("Sigmoid", "Sigmoid"),
    {"Softmax", 1, [](OnnxBlock& b) { return Endpoints{along_axis(b, -1, softmax_last)}; }},
    PLAIN("Softplus", "Softplus"),
    PLAIN("Softsign", "Softsign"),
    {"SwiGLU", 28, swi_glu, true},
    {"Swish", 24, swish, true},
    PLAIN("Tanh", "Tanh"),
    {"ThresholdedRelu", 10, thresholded_relu, true},
};

#undef PLAIN

}  // namespace

std::span<const OnnxOp> onnx_activation_ops() { return kActivationOps; }

}  // namespace emplace
