/// TensorToSave: what writers of checkpoints are given.
#pragma once

#include <string>

#include "core/formats/checkpoint/tensor_slice.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// A tensor to be saved, or a part of one.
struct TensorToSave {
  std::string key;
  Tensor value;
  Shape whole{};        // of a part: the shape of the whole tensor
  TensorSlice slice{};  // no dimension: `value` is the whole
};

}  // namespace emplace
