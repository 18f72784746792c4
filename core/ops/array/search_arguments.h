/// What Bucketize, LowerBound and UpperBound refuse before they search, on a CPU and on a GPU.
#pragma once

#include <vector>

#include "core/op/kernel.h"

namespace emplace {

/// Bucketize's, which must ascend.
Result<std::vector<float>> bucket_boundaries(const KernelInit& init);
/// The bounds' inputs: matrices of equally many rows.
Status check_search_rows(const KernelContext& c);

}  // namespace emplace
