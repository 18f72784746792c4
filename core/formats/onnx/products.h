/// Products that the ops of several topics are made of.
#pragma once

#include "core/formats/onnx/window.h"

namespace emplace {

/// [N,C,...] by [M,C/group,...] in NCHW, and a bias [M] if there is one; of one to three dimensions.
Endpoint onnx_convolution(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group,
                          Endpoint bias = {});
/// NumPy's matmul.
Endpoint onnx_product(OnnxBlock& b, Endpoint x, Endpoint y);

}  // namespace emplace
