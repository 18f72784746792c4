/// TensorList: the one thing that a tensor of type variant holds.
///
/// Who changes a list does so in place if nobody else holds it, else on a copy, whose elements share their buffers: n
/// writes in a loop take O(n).
#pragma once

#include <vector>

#include "core/op/kernel.h"

namespace emplace {

struct TensorList {
  DType dtype = DType::kInvalid;
  Shape element_shape = Shape::unknown();  // perhaps known in part
  int64_t max_num_elements = -1;           // -1: no limit
  std::vector<Tensor> elements;            // in the memory of the list's device; invalid: not set

  int64_t size() const { return static_cast<int64_t>(elements.size()); }
};

/// A scalar variant that holds the list.
Tensor list_tensor(TensorList list);
/// InvalidArgument if it holds none.
Result<const TensorList*> list_in(const Tensor& variant);
/// Output `i` becomes the list of input `input`, to be changed: the input itself, which is given up, or a copy.
Result<TensorList*> changed_list(KernelContext& c, int input, int i);

}  // namespace emplace
