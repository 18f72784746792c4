// Part of core/formats/onnx/op_table.h: integers that stand for reals, y = (q - zero_point) * scale. Products of bytes
// have ops of their own (core/formats/onnx/byte_products.h); what these do not take becomes products of int32, which
// are exact as well.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/byte_moves.h"
#include "core/formats/onnx/byte_products.h"
#include "core/formats/onnx/layout.h"
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

Endpoints plain_quantize_linear(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int64_t axis = b.integer("axis", 1);
  const std::optional<DType> stated = onnx_dtype(b.integer("output_dtype", 0));
  const DType to = b.has(2) ? b.type(b.input(2)) : stated ? *stated : DType::kUInt8;
  const Endpoint scale = spread_along(b, b.cast(b.input(1), DType::kFloat), x, axis);
  const Endpoint zero = b.has(2) ? spread_along(b, b.cast(b.input(2), DType::kFloat), x, axis) : Endpoint{};
  return {onnx_quantised(b, b.div(b.cast(x, DType::kFloat), scale), zero, to)};
}

Endpoints plain_dequantize_linear(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int64_t axis = b.integer("axis", 1);
  const DType own = b.type(b.input(1));
  Endpoint y = b.cast(x, DType::kFloat);
  if (b.has(2)) y = b.sub(y, spread_along(b, b.cast(b.input(2), DType::kFloat), x, axis));
  return {b.cast(b.mul(y, spread_along(b, b.cast(b.input(1), DType::kFloat), x, axis)), own)};
}

/// Where scale and zero point are one for all, images may lie as they like.
constexpr OnnxOp kPlainQuantize{"QuantizeLinear", 10, plain_quantize_linear, true, true},
    kPlainDequantize{"DequantizeLinear", 10, plain_dequantize_linear, true, true};

Endpoints in_any_layout(OnnxBlock& b, const OnnxOp& op) {
  if (std::optional<Endpoints> last = translate_channels_last(b, op)) return *last;
  return b.failed() ? Endpoints() : op.translate(b);
}

Endpoints quantize_linear(OnnxBlock& b) {
  if (b.has(2)) {
    if (const auto bytes = product_as_bytes(b, b.input(0), b.input(1), b.input(2))) return {*bytes};
    if (const auto bytes = same_bytes(b, b.input(0), b.input(1), b.input(2))) return {*bytes};
  }
  return in_any_layout(b, kPlainQuantize);
}

Endpoints dequantize_linear(OnnxBlock& b) {
  Endpoints y = in_any_layout(b, kPlainDequantize);
  const bool plain = b.integer("block_size", 0) == 0 && !b.failed() && b.type(y[0]) == DType::kFloat;
  if (!plain) return y;
  const Endpoint x = b.input(0), scale = b.input(1);
  const bool single = b.has_shape(scale) && b.shape(scale).num_elements() == 1;
  const int axis = single ? -1 : b.axis(b.integer("axis", 1), b.rank(x));
  b.frame().body().byte_views().reals[{y[0].node, y[0].slot}] = {x, scale, b.input_or(2, {}), axis};
  return y;
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
  return {onnx_quantised(b, b.div(x, scale), point, DType::kUInt8), scale, point};
}

/// As int32, its zero point taken off: one for all, or one for each row or column.
Endpoint centred_int(OnnxBlock& b, Endpoint x, size_t zero, bool rows) {
  const Endpoint wide = b.cast(x, DType::kInt32);
  if (!b.has(zero)) return wide;
  Endpoint point = b.cast(b.input(zero), DType::kInt32);
  if (rows && b.rank(point) == 1 && b.dim(point, 0) != 1) point = b.expand(point, -1);
  return b.sub(wide, point);
}

OnnxBytes bytes_of(OnnxBlock& b, size_t at, size_t zero) { return {b.input(at), b.input_or(zero, {})}; }

Endpoints mat_mul_integer(OnnxBlock& b) {
  if (const auto y = byte_product(b, bytes_of(b, 0, 2), bytes_of(b, 1, 3))) return {*y};
  return {onnx_product(b, centred_int(b, b.input(0), 2, true), centred_int(b, b.input(1), 3, false))};
}

std::optional<OnnxWindow> window_of(OnnxBlock& b, Endpoint x, Endpoint filter) {
  Ints sizes;
  for (int i = 2; i < b.rank(filter); ++i) sizes.push_back(b.dim(filter, i));
  return onnx_window(b, x, sizes);
}

Endpoint conv_of_ints(OnnxBlock& b, size_t x_at, size_t w_at, size_t x_zero, size_t w_zero, const OnnxWindow& w) {
  const Endpoint x = centred_int(b, b.input(x_at), x_zero, false);
  Endpoint filter = b.cast(b.input(w_at), DType::kInt32);
  if (b.has(w_zero)) {
    Endpoint point = b.cast(b.input(w_zero), DType::kInt32);
    if (b.rank(point) == 1 && b.dim(point, 0) != 1) point = b.per_channel(point, b.rank(filter), 0);
    filter = b.sub(filter, point);
  }
  return onnx_convolution(b, x, filter, w, b.integer("group", 1));
}

Endpoints conv_integer(OnnxBlock& b) {
  const std::optional<OnnxWindow> w = window_of(b, b.input(0), b.input(1));
  if (!w) return {Endpoint{}};
  if (const auto y = byte_convolution(b, bytes_of(b, 0, 2), bytes_of(b, 1, 3), *w, b.integer("group", 1))) return {*y};
  return {conv_of_ints(b, 0, 1, 2, 3, *w)};
}

Endpoint rescaled(OnnxBlock& b, Endpoint sum, Endpoint factor) { return b.mul(b.cast(sum, DType::kFloat), factor); }

Endpoints qlinear_mat_mul(OnnxBlock& b) {
  const OnnxRescaling how{rescaling_factor(b, b.input(1), b.input(4), b.input(6)), b.input(7)};
  if (const auto y = byte_product(b, bytes_of(b, 0, 2), bytes_of(b, 3, 5), &how)) return {*y};
  const Endpoint sum = onnx_product(b, centred_int(b, b.input(0), 2, true), centred_int(b, b.input(3), 5, false));
  Endpoint rows = b.input(1);
  if (b.rank(rows) == 1 && b.dim(rows, 0) != 1) rows = b.expand(rows, -1);
  const Endpoint factor = rescaling_factor(b, rows, b.input(4), b.input(6));
  return {onnx_quantised(b, rescaled(b, sum, factor), b.input(7), b.type(b.input(7)))};
}

Endpoints qlinear_conv(OnnxBlock& b) {
  const std::optional<OnnxWindow> w = window_of(b, b.input(0), b.input(3));
  if (!w) return {Endpoint{}};
  const OnnxRescaling how{rescaling_factor(b, b.input(1), b.input(4), b.input(6)), b.input(7), b.input_or(8, {})};
  if (const auto y = byte_convolution(b, bytes_of(b, 0, 2), bytes_of(b, 3, 5), *w, b.integer("group", 1), &how))
    return {*y};
  Endpoint sum = conv_of_ints(b, 0, 3, 2, 5, *w);
  const int rank = b.rank(sum);
  if (b.has(8)) sum = b.add(sum, b.per_channel(b.input(8), rank));
  Endpoint scale = b.input(4);
  if (b.rank(scale) == 1 && b.dim(scale, 0) != 1) scale = b.per_channel(scale, rank);
  const Endpoint factor = rescaling_factor(b, b.input(1), scale, b.input(6));
  return {onnx_quantised(b, rescaled(b, sum, factor), b.input(7), b.type(b.input(7)))};
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
