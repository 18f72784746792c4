/// Tensors in messages of a running graph (Assert, Print, StringFormat), as TensorFlow's Tensor::SummarizeValue prints
/// them.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace emplace {

/// At most `most` elements (negative: all): "2.207 -0.291...", "[1 2][3 4]".
std::string summarize_value(const Tensor& t, int64_t most);
/// As tf.print has it: "[[1 2 3]\n [4 5 6]]", "[0 1 ... 8 9]"; of each dimension so many at its ends (negative: all).
std::string print_value(const Tensor& t, int64_t ends);

}  // namespace emplace
