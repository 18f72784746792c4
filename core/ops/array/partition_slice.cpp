#include "core/ops/array/partition_slice.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

Result<Shape> partition_slice(const Shape& data, const Shape& partitions) {
  if (partitions.rank() > data.rank() ||
      !std::equal(partitions.dims().begin(), partitions.dims().end(), data.dims().begin())) {
    return invalid_argument(cat("data.shape must start with partitions.shape, got data.shape = ", data.to_string(),
                                ", partitions.shape = ", partitions.to_string()));
  }
  Shape slice(data.dims().subspan(static_cast<size_t>(partitions.rank())));
  if (slice.rank() >= kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  return slice;
}

}  // namespace emplace
