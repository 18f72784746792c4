/// The kernel of a chain of elementwise nodes (core/device/gpu.h).
#pragma once

#include "core/device/gpu.h"
#include "cuda/device_state.h"

namespace emplace::cuda {

bool is_chainable(const Kernel& kernel);

/// Compiled, or found in the cache. Unavailable: not to be had, or it would cost more time than it saves.
Result<std::unique_ptr<Kernel>> compile_chain(const GpuChain& chain, const DeviceState& device);

}  // namespace emplace::cuda
