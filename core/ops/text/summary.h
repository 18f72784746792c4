/// Tensors in messages of a running graph (Assert, Print), as TensorFlow's Tensor::SummarizeValue prints them.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace emplace {

/// At most `most` elements (negative: all): "2.207 -0.291...", "[1 2][3 4]".
std::string summarize_value(const Tensor& t, int64_t most);

}  // namespace emplace
