// Part of core/formats/onnx/op_table.h: ops of com.microsoft that ONNX Runtime's tools put into quantised models. But
// for products they compute with reals.
#include "core/formats/onnx/byte_products.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/products.h"

namespace emplace {
namespace {

/// The reals that the bytes at `input` stand for; scale and zero point follow.
Endpoint real_input(OnnxBlock& b, size_t input) {
  const auto real = [&](Endpoint e) { return b.cast(e, DType::kFloat); };
  Endpoint x = real(b.input(input));
  if (b.has(input + 2)) x = b.sub(x, real(b.input(input + 2)));
  return b.mul(x, real(b.input(input + 1)));
}

/// Bytes of the scale at `input` and the zero point behind it; without one of the type of input 0.
Endpoint as_bytes(OnnxBlock& b, Endpoint y, size_t input) {
  const Endpoint zero = b.input_or(input + 1, {});
  const DType to = b.type(zero.node == kNoNode ? b.input(0) : zero);
  return onnx_quantised(b, b.div(y, b.cast(b.input(input), DType::kFloat)), zero, to);
}

Endpoints of_two(OnnxBlock& b, std::string_view op) {
  return {as_bytes(b, b.math(op, {real_input(b, 0), real_input(b, 3)}), 6)};
}

Endpoints qlinear_leaky_relu(OnnxBlock& b) {
  const Endpoint x = real_input(b, 0);
  return {as_bytes(b, b.make("LeakyRelu", {x}, {{"alpha", attr_of(b.number("alpha", 0.01f))}}), 3)};
}

Endpoints qlinear_softmax(OnnxBlock& b) {
  const Endpoint x = real_input(b, 0);
  if (b.axis(b.integer("axis", -1), b.rank(x)) != b.rank(x) - 1) return {b.fail("another axis than the last")};
  return {as_bytes(b, b.math("Softmax", {x}), 3)};
}

Endpoints qlinear_global_average_pool(OnnxBlock& b) {
  const Endpoint x = real_input(b, 0);
  const bool last = b.integer("channels_last", 0) != 0;
  Ints axes;
  for (int i = last ? 1 : 2; i < b.rank(x) - (last ? 1 : 0); ++i) axes.push_back(i);
  return {as_bytes(b, b.reduce("Mean", x, axes), 3)};
}

/// Scale and zero point of the result come first.
Endpoints qlinear_concat(OnnxBlock& b) {
  if (b.num_inputs() < 5 || b.num_inputs() % 3 != 2) return {b.fail("inputs that are not bytes, scale, zero point")};
  Endpoints parts;
  for (size_t i = 2; i < b.num_inputs(); i += 3) parts.push_back(real_input(b, i));
  const int axis = b.axis(b.integer("axis", 0), b.rank(parts[0]));
  return {as_bytes(b, b.concat(parts, axis), 0)};
}

/// Without a scale of the result the sums become reals.
Endpoints q_gemm(OnnxBlock& b) {
  if (b.number("alpha", 1) != 1) return {b.fail("an alpha other than 1")};
  const auto turned = [&](Endpoint e, std::string_view attribute) {
    return b.integer(attribute, 0) != 0 ? b.transpose(e, {1, 0}) : e;
  };
  const OnnxBytes x{turned(b.input(0), "transA"), b.input_or(2, {})},
      y{turned(b.input(3), "transB"), b.input_or(5, {})};
  const bool to_bytes = b.has(7);
  const Endpoint y_scale = to_bytes ? b.input(7) : b.scalar(DType::kFloat, 1);
  const Endpoint factor = rescaling_factor(b, b.input(1), b.input(4), y_scale);
  const OnnxRescaling how{factor, b.input_or(8, {}), b.input_or(6, {})};
  const std::optional<Endpoint> made = byte_product(b, x, y, to_bytes ? &how : nullptr);
  if (!made || to_bytes) return {made ? *made : b.fail("inputs that are no bytes, or sizes that are not known")};
  const Endpoint sums = b.has(6) ? b.add(*made, b.input(6)) : *made;
  return {b.mul(b.cast(sums, DType::kFloat), factor)};
}

constexpr OnnxOp kRuntimeOps[] = {
    {"com.microsoft.QGemm", 1, q_gemm},
    {"com.microsoft.QLinearAdd", 1, [](OnnxBlock& b) { return of_two(b, "AddV2"); }, true},
    {"com.microsoft.QLinearConcat", 1, qlinear_concat},
    {"com.microsoft.QLinearGlobalAveragePool", 1, qlinear_global_average_pool},
    {"com.microsoft.QLinearLeakyRelu", 1, qlinear_leaky_relu, true},
    {"com.microsoft.QLinearMul", 1, [](OnnxBlock& b) { return of_two(b, "Mul"); }, true},
    {"com.microsoft.QLinearSigmoid", 1,
     [](OnnxBlock& b) { return Endpoints{as_bytes(b, b.math("Sigmoid", {real_input(b, 0)}), 3)}; }, true},
    {"com.microsoft.QLinearSoftmax", 1, qlinear_softmax},
};

}  // namespace

std::span<const OnnxOp> onnx_runtime_ops() { return kRuntimeOps; }

}  // namespace emplace
