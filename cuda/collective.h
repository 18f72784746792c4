/// The kernel of a member of a collective whose others are in several processes (cuda/ops/collective.cu).
#pragma once

#include <memory>

#include "core/device/gpu.h"

namespace emplace::cuda {

/// REQUIRES: as GpuBackend::member_kernel().
Result<std::unique_ptr<Kernel>> make_member(const KernelInit& init, const CollectiveSeat& seat);

}  // namespace emplace::cuda
