/// Shape of the slices that DynamicPartition distributes, for its shape rule and its kernels on CPU and GPU.
#pragma once

#include "core/base/shape.h"
#include "core/base/status.h"

namespace emplace {

/// The shape of one slice. InvalidArgument unless the data's shape starts with that of the partitions.
Result<Shape> partition_slice(const Shape& data, const Shape& partitions);

}  // namespace emplace
