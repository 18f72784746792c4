#include "core/ops/array/dynamic_window.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

Status check_places(const Shape& x, const Shape& places) {
  if (places.rank() == 1 && places.dim(0) == x.rank()) return ok_status();
  return invalid_argument(cat("index must be a vector with length equal to the number of input dimensions, ", x.rank(),
                              ", found shape ", places.to_string()));
}

}  // namespace

Result<Shape> box_to_take(const KernelContext& c) {
  const Shape &x = c.input(0).shape(), &sizes = c.input(2).shape();
  RETURN_IF_ERROR(check_places(x, c.input(1).shape()));
  if (sizes.rank() != 1 || sizes.dim(0) != x.rank())
    return invalid_argument(cat("wanted ", x.rank(), " slice sizes, found shape ", sizes.to_string()));
  Shape box;
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t size = int_at(c.input(2), d);
    if (size < 0 || size > x.dim(d)) {
      return invalid_argument(cat("slice size ", size, " in dimension ", d, " is not in [0, ", x.dim(d),
                                  "], the dimension of the operand"));
    }
    box.add_dim(size);
  }
  return box;
}

Status check_box_to_put(const KernelContext& c) {
  const Shape &x = c.input(0).shape(), &update = c.input(1).shape();
  if (x.rank() != update.rank()) {
    return invalid_argument(cat("input and update must have the same rank, input shape is ", x.to_string(),
                                "; update shape is ", update.to_string()));
  }
  RETURN_IF_ERROR(check_places(x, c.input(2).shape()));
  for (int d = 0; d < x.rank(); ++d) {
    if (update.dim(d) > x.dim(d)) {
      return invalid_argument(
          cat("Update dim size ", update.dim(d), " greater than dynamic slice dimension: ", x.dim(d)));
    }
  }
  return ok_status();
}

}  // namespace emplace
