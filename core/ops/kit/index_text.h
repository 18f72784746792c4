/// How messages name an index: "indices[2,0] = [7, 1]".
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace emplace {

/// "[2,0]": place `flat` in the first `rank` dimensions of `shape`; "" for rank 0.
std::string place_text(const Shape& shape, int rank, int64_t flat);
/// "7, 1": `n` integers of an index tensor from element `begin` on.
std::string index_text(const Tensor& indices, int64_t begin, int64_t n, std::string_view separator = ", ");
/// Element `i` of an int16, int32 or int64 tensor.
int64_t index_at(const Tensor& indices, int64_t i);

}  // namespace emplace
