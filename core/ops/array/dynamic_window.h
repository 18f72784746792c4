/// Where XlaDynamicSlice takes a box from a tensor, and XlaDynamicUpdateSlice puts one: arguments, checked.
#pragma once

#include "core/op/kernel.h"

namespace emplace {

/// Places are moved to where the box lies in the tensor. REQUIRES: 0 <= size <= dim.
inline int64_t place_of_box(int64_t wanted, int64_t size, int64_t dim) {
  return wanted < 0 ? 0 : wanted > dim - size ? dim - size : wanted;
}

/// The box that the values of input 2 give the sizes of.
Result<Shape> box_to_take(const KernelContext& c);
/// That input 1 can be put into input 0 at input 2.
Status check_box_to_put(const KernelContext& c);

}  // namespace emplace
