#include "core/ops/array/gather_geometry.h"

#include "core/base/cat.h"
#include "core/ops/kit/numeric.h"

namespace emplace {

Result<GatherGeometry> GatherGeometry::make(const Shape& params, const Shape& indices, int64_t axis,
                                            int64_t batch_dims) {
  if (params.rank() < 1) return invalid_argument("params must be at least 1 dimensional");
  if (axis < -params.rank() || axis >= params.rank()) {
    return invalid_argument(
        cat("Shape must be at least rank ", axis < 0 ? -axis : axis + 1, " but is rank ", params.rank()));
  }
  if (axis < 0) axis += params.rank();
  if (batch_dims < -indices.rank() || batch_dims > indices.rank()) {
    return invalid_argument(
        cat("Expected batch_dims in the range [", -indices.rank(), ", ", indices.rank(), "], but got ", batch_dims));
  }
  if (batch_dims < 0) batch_dims += indices.rank();
  if (batch_dims >= params.rank()) {
    return invalid_argument(cat("batch_dims (", batch_dims, ") must be less than rank(params) (", params.rank(), ")."));
  }
  if (axis < batch_dims) {
    return invalid_argument(cat("batch_dims (", batch_dims, ") must be less than or equal to axis (", axis, ")."));
  }
  GatherGeometry g;
  GatherSizes& sizes = g.sizes;
  // A product may wrap where another size is 0: then nothing is copied.
  auto take = [&](int64_t& product, int64_t size) {
    product = multiply(product, size);
    g.out.add_dim(size);
  };
  for (int i = 0; i < axis; ++i) {
    if (i < batch_dims && params.dim(i) != indices.dim(i)) {
      return invalid_argument(cat("params.shape[", i, "]: ", params.dim(i), " should be equal to indices.shape[", i,
                                  "]: ", indices.dim(i)));
    }
    take(i < batch_dims ? sizes.batch : sizes.outer, params.dim(i));
  }
  for (int i = static_cast<int>(batch_dims); i < indices.rank(); ++i) take(sizes.chosen, indices.dim(i));
  sizes.size = params.dim(static_cast<int>(axis));
  for (int i = static_cast<int>(axis) + 1; i < params.rank(); ++i) take(sizes.inner, params.dim(i));
  return g;
}

}  // namespace emplace
