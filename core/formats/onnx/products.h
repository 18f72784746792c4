/// Products that the ops of several topics are made of.
#pragma once

#include "core/formats/onnx/window.h"

namespace emplace {

/// [N,C,...] by [M,C/group,...] in NCHW, and a bias [M] if there is one; of one to three dimensions.
Endpoint onnx_convolution(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group,
                          Endpoint bias = {});
/// Does the filter fit to x and the window? If not, the block fails.
bool onnx_convolution_fits(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group);
/// A window of two dimensions, of one that has fewer or of the last two.
OnnxWindow flat_window(const OnnxWindow& w);
/// Attrs of a Conv2D with its channels last.
OnnxAttrs conv_attrs(const OnnxWindow& w);
/// NumPy's matmul.
Endpoint onnx_product(OnnxBlock& b, Endpoint x, Endpoint y);

}  // namespace emplace
