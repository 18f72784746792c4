/// Tensors of tiny types (core/base/tiny_float.h) where they meet text and files: as tensors of plain types.
#pragma once

#include "core/base/tiny_float.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// The same values as plain_type(); `t` itself if its type is that already.
Result<Tensor> as_plain(const Tensor& t);
/// Of plain_type(dtype), in `dtype`: floats are rounded, integers that do not fit are an error.
Result<Tensor> from_plain(const Tensor& plain, DType dtype);

}  // namespace emplace
