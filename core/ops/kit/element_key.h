/// Elements as keys of hash tables (Unique, ListDiff).
#pragma once

#include <optional>

#include "core/tensor/tensor.h"

namespace emplace {

/// Keys are equal where TensorFlow takes the elements for equal: -0 is 0 except in the halves, and nothing equals a NaN
/// (no key). REQUIRES: elements of at most 8 bytes, no strings.
std::optional<uint64_t> element_key(const Tensor& t, int64_t i);

}  // namespace emplace
