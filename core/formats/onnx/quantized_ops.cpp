// Part of core/formats/onnx/op_table.h: integers that stand for reals, y = (q - zero_point) * scale. Products are those
// of int32, which are exact.
#include <algorithm>
#include <limits>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/products.h"
#include "core/formats/onnx/tensor.h"

namespace emplace {
namespace {

/// Scales and zero points lie along an axis of x, or of blocks of it, or are one for all.
Endpoint spread_along(OnnxBlock& b, Endpoint e, Endpoint x, int64_t given_axis) {
  const int rank = b.rank(x);
  if (b.rank(e) == 0 || (b.dim(e, 0) == 1 && b.rank(e) == 1)) return b.rank(e) == 0 ? e : b.reshape(e, Ints{});
  const int axis = b.axis(given_axis, rank);
  if (b.rank(e) == 1) return b.per_channel(e, rank, axis);
  const int64_t block = b.integer("block_size", 0), size = b.dim(x, axis);
  if (block < 1 || size < 0) return b.fail("scales of blocks of a size that is not known");
  Ints at;
  for (int64_t i = 0; i < std::min<int64_t>(size, 1 << 24); ++i) at.push_back(i / block);
  return b.make("GatherV2", {e, b.ints(at), b.int32(axis)});
}

bool limits(DType t, double& low, double& high) {
  switch (t) {
    case DType::kUInt8:
      return low = 0, high = UINT8_MAX, true;
    case DType::kInt8:
      return low = INT8_MIN, high = INT8_MAX, true;
    case DType::kUInt16:
      return low = 0, high = UINT16_MAX, true;
    case DType::kInt16:
      return low = INT16_MIN, high = INT16_MAX, true;
    default:
      return false;
  }
}

/// Rounded to even, moved by the zero point, cut to the type's range. `x`: of a floating type.
Endpoint quantised(OnnxBlock& b, Endpoint x, Endpoint zero, DType to) {
  double low = 0, high = 0;
  if (!limits(to, low, high)) return b.fail(cat("quantisation to ", dtype_name(to), ", which is not read"));
  x = b.math("Round", {x});
  if (zero.node != kNoNode) x = b.add(x, b.cast(zero, b.type(x)));
  return b.cast(b.math("ClipByValue", {x, b.like(x, low), b.like(x, high)}), to);
}

Endpoints quantize_linear(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int64_t axis = b.integer("axis", 1);
  const std::optional<DType> stated = onnx_dtype(b.integer("output_dtype", 0));
  const DType to = b.has(2) ? b.type(b.input(2)) : stated ? *stated : DType::kUInt8;
  const Endpoint scale = spread_along(b, b.cast(b.input(1), DType::kFloat), x, axis);
  const Endpoint zero = b.has(2) ? spread_along(b, b.cast(b.input(2), DType::kFloat), x, axis) : Endpoint{};
  return {quantised(b, b.div(b.cast(x, DType::kFloat), scale), zero, to)};
}

Endpoints dequantize_linear(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int64_t axis = b.integer("axis", 1);
  const DType own = b.type(b.input(1));
  Endpoint y = b.cast(x, DType::kFloat);
  if (b.has(2)) y = b.sub(y, spread_along(b, b.cast(b.input(2), DType::kFloat), x, axis));
  return {b.cast(b.mul(y, spread_along(b, b.cast(b.input(1), DType::kFloat), x, axis)), own)};
}

Endpoints dynamic_quantize_linear(OnnxBlock& b) {
  const Endpoint x = b.input(0), zero = b.like(x, 0), steps = b.like(x, 255);
  Ints all;
  for (int i = 0; i < b.rank(x); ++i) all.push_back(i);
  const Endpoint top = b.math("Maximum", {b.reduce("Max", x, all, false), zero});
  const Endpoint bottom = b.math("Minimum", {b.reduce("Min", x, all, false), zero});
  const Endpoint same = b.make("Equal", {top, bottom});
  const Endpoint scale = b.div(b.select(same, b.like(x, 1), b.sub(top, bottom)), steps);
  const Endpoint moved = b.math("ClipByValue", {b.sub(zero, b.div(bottom, scale)), zero, steps});
  const Endpoint point = b.cast(b.math("Round", {moved}), DType::kUInt8);
  return {quantised(b, b.div(x, scale), point, DType::kUInt8), scale, point};
}

/// As int32, its zero point taken off: one for all, or one for each row or column.
Endpoint centred_int(OnnxBlock& b, Endpoint x, size_t zero, bool rows) {
  const Endpoint wide = b.cast(x, DType::kInt32);
  if (!b.has(zero)) return wide;
  Endpoint point = b.cast(b.input(zero), DType::kInt32);
  if (rows && b.rank(point) == 1 && b.dim(point, 0) != 1) point = b.expand(point, -1);
  return b.sub(wide, point);
}

Endpoints mat_mul_integer(OnnxBlock& b) {
  return {onnx_product(b, centred_int(b, b.input(0), 2, true), centred_int(b, b.input(1), 3, false))};
}

Endpoint conv_of_ints(OnnxBlock& b, size_t x_at, size_t w_at, size_t x_zero, size_t w_zero) {
  const Endpoint x = centred_int(b, b.input(x_at), x_zero, false);
  Endpoint filter = b.cast(b.input(w_at), DType::kInt32);
  if (b.has(w_zero)) {
    Endpoint point = b.cast(b.input(w_zero), DType::kInt32);
    if (b.rank(point) == 1 && b.dim(point, 0) != 1) point = b.per_channel(point, b.rank(filter), 0);
    filter = b.sub(filter, point);
  }
  Ints sizes;
  for (int i = 2; i < b.rank(filter); ++i) sizes.push_back(b.dim(filter, i));
  const std::optional<OnnxWindow> w = onnx_window(b, x, sizes);
  return w ? onnx_convolution(b, x, filter, *w, b.integer("group", 1)) : Endpoint{};
}

Endpoints conv_integer(OnnxBlock& b) { return {conv_of_ints(b, 0, 1, 2, 3)}; }

/// A product of scales over that of the result; in double, so that rounding is that of exact reals.
Endpoint rescaled(OnnxBlock& b, Endpoint sum, Endpoint x_scale, Endpoint w_scale, Endpoint y_scale) {
  const auto real = [&](Endpoint e) { return b.cast(b.cast(e, DType::kFloat), DType::kDouble); };
  const Endpoint factor = b.div(b.mul(real(x_scale), real(w_scale)), real(y_scale));
  return b.mul(b.cast(sum, DType::kDouble), factor);
}

Endpoints qlinear_mat_mul(OnnxBlock& b) {
  const Endpoint sum = onnx_product(b, centred_int(b, b.input(0), 2, true), centred_int(b, b.input(3), 5, false));
  Endpoint rows = b.input(1);
  if (b.rank(rows) == 1 && b.dim(rows, 0) != 1) rows = b.expand(rows, -1);
  return {quantised(b, rescaled(b, sum, rows, b.input(4), b.input(6)), b.input(7), b.type(b.input(7)))};
}

Endpoints qlinear_conv(OnnxBlock& b) {
  Endpoint sum = conv_of_ints(b, 0, 3, 2, 5);
  const int rank = b.rank(sum);
  if (b.has(8)) sum = b.add(sum, b.per_channel(b.input(8), rank));
  Endpoint scale = b.input(4);
  if (b.rank(scale) == 1 && b.dim(scale, 0) != 1) scale = b.per_channel(scale, rank);
  return {quantised(b, rescaled(b, sum, b.input(1), scale, b.input(6)), b.input(7), b.type(b.input(7)))};
}

constexpr OnnxOp kQuantizedOps[] = {
    {"ConvInteger", 10, conv_integer},
    {"DequantizeLinear", 10, dequantize_linear},
    {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
    {"MatMulInteger", 10, mat_mul_integer},
    {"QLinearConv", 10, qlinear_conv},
    {"QLinearMatMul", 10, qlinear_mat_mul},
    {"QuantizeLinear", 10, quantize_linear},
};

}  // namespace

std::span<const OnnxOp> onnx_quantized_ops() { return kQuantizedOps; }

}  // namespace emplace
