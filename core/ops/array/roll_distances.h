/// How far Roll moves elements along each axis: read from its arguments in host memory, for the kernels of CPU and GPU.
#pragma once

#include <array>

#include "core/op/kernel.h"

namespace emplace {

/// By axis, in [0, its size).
using RollDistances = std::array<int64_t, kMaxRank>;

/// Those of inputs `shift` and `axis`; TensorFlow's checks, in its words.
Status find_roll_distances(const KernelContext& c, RollDistances& by_axis);

}  // namespace emplace
