/// Products of bytes with exact sums, by the ops that the processor's instructions for them serve.
#pragma once

#include <optional>

#include "core/formats/onnx/window.h"

namespace emplace {

/// What one side of a product has beside its bytes.
struct OnnxBytes {
  Endpoint bytes;
  Endpoint zero = {};  // of the same type; none: 0
};

/// How sums become bytes again; scale: of one side times that of the other by that of the result.
struct OnnxRescaling {
  Endpoint scale, zero;
  Endpoint bias = {};  // int32, of each channel; none: 0
};

/// x, of a floating type, rounded to even, moved by the zero point, cut to the type's range. `zero`: none is 0.
Endpoint onnx_quantised(OnnxBlock& b, Endpoint x, Endpoint zero, DType to);
/// As a tiny float (core/base/tiny_float.h): what is too large, or infinite, becomes the largest number.
Endpoint onnx_saturated(OnnxBlock& b, Endpoint x, DType to);
/// A product of scales over that of the result, of floats, as ONNX computes it.
Endpoint rescaling_factor(OnnxBlock& b, Endpoint x_scale, Endpoint w_scale, Endpoint y_scale);

/// As onnx_convolution() and onnx_product(), of int32 or, with `how`, of the type of its zero point. Nothing: the sides
/// are no bytes, or something is not known or not as these ops want it.
std::optional<Endpoint> byte_convolution(OnnxBlock& b, const OnnxBytes& x, const OnnxBytes& filter, const OnnxWindow& w,
                                         int64_t group, const OnnxRescaling* how = nullptr);
std::optional<Endpoint> byte_product(OnnxBlock& b, const OnnxBytes& x, const OnnxBytes& y,
                                     const OnnxRescaling* how = nullptr);

/// y is a convolution, or a product, of these reals: if both sides, and the bias, were made of bytes, it is remembered.
void note_byte_convolution(OnnxBlock& b, Endpoint y, Endpoint x, Endpoint filter, Endpoint bias, const OnnxWindow& w,
                           int64_t group);
void note_byte_product(OnnxBlock& b, Endpoint y, Endpoint x, Endpoint factor, Endpoint bias = {},
                       bool factor_turned = false);
/// Bytes of reals that were remembered so; nothing: they were not.
std::optional<Endpoint> product_as_bytes(OnnxBlock& b, Endpoint reals, Endpoint scale, Endpoint zero);

}  // namespace emplace
