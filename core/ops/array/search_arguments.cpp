#include "core/ops/array/search_arguments.h"

#include <algorithm>

namespace emplace {

Result<std::vector<float>> bucket_boundaries(const KernelInit& init) {
  std::vector<float> boundaries = init.attrs.numbers("boundaries");
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) return invalid_argument("Expected sorted boundaries");
  return boundaries;
}

Status check_search_rows(const KernelContext& c) {
  const Shape &sorted = c.input(0).shape(), &values = c.input(1).shape();
  if (sorted.rank() != 2) return invalid_argument("sorted input argument must be a matrix");
  if (values.rank() != 2 || sorted.dim(0) != values.dim(0))
    return invalid_argument("Leading dim_size of both tensors must match.");
  return ok_status();
}

}  // namespace emplace
