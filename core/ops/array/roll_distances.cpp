#include "core/ops/array/roll_distances.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

Status find_roll_distances(const KernelContext& c, RollDistances& by_axis) {
  const Shape& shape = c.input(0).shape();
  const Tensor &shift = c.input(1), &axis = c.input(2);
  if (shape.rank() < 1) return invalid_argument("input must be 1-D or higher");
  if (shift.shape().rank() > 1) {
    return invalid_argument(cat("shift must be a scalar or a 1-D vector. Found: ", shift.shape().to_string()));
  }
  if (axis.shape().rank() > 1)
    return invalid_argument(cat("axis must be a scalar or a 1-D vector. Found: ", axis.shape().to_string()));
  if (shift.shape() != axis.shape()) return invalid_argument("shift and axis must have the same size");
  std::fill_n(by_axis.begin(), shape.rank(), 0);
  for (int64_t i = 0; i < axis.num_elements(); ++i) {
    int64_t at = int_at(axis, i);
    if (at < 0) at += shape.rank();
    if (at < 0 || at >= shape.rank()) return invalid_argument(cat("axis ", at, " is out of range"));
    const int64_t size = std::max<int64_t>(shape.dim(static_cast<int>(at)), 1);
    int64_t& sum = by_axis[static_cast<size_t>(at)];
    sum = ((int_at(shift, i) % size + sum) % size + size) % size;
  }
  return ok_status();
}

}  // namespace emplace
