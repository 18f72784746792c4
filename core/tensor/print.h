/// Tensors as NumPy prints them: str(array) with the default print options of NumPy 2 (numpy/_core/arrayprint.py),
/// bfloat16 as ml_dtypes does.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace emplace {

/// "[[22. 28.]\n [49. 64.]]"; a scalar as a NumPy scalar ("3.0", "b'text'"). REQUIRES: host memory, a data type.
std::string print_tensor(const Tensor& t);

}  // namespace emplace
