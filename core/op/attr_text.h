/// Attr values and tensors in the words of TensorFlow's messages (SummarizeAttrValue, Tensor's SummarizeValue).
#pragma once

#include <string>

#include "core/op/attr_value.h"

namespace emplace {

/// `DT_FLOAT`, `"NHWC"`, `[1, 2]`, `Tensor<type: float shape: [2] values: 1 2>`.
std::string summarize_attr(const AttrValue& value);
/// `T=DT_FLOAT, transpose_a=false`: sorted by name, without brackets.
std::string summarize_attrs(Attrs attrs);
/// At most `limit` elements: `1 2`, `[1 2][3...]...`.
std::string summarize_values(const Tensor& t, int64_t limit);
/// As TensorFlow prints a float in a message: 6 digits if they are enough, else 9.
std::string message_number(float v);

}  // namespace emplace
