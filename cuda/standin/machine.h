/// The machine that the stand-in shows: GPUs from a file, or one that tests can rely on.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/device/device.h"

namespace emplace::standin {

/// From a device's free memory. False: there is not as much, or no such device.
bool take_memory(int device, size_t bytes);
void give_back_memory(int device, size_t bytes);
/// What NVML would list: the cards of EMPLACE_STANDIN_NVML, a file like EMPLACE_STANDIN_MACHINE's.
std::vector<PhysicalGpu> listed_cards();
/// What EMPLACE_STANDIN_FAILS="cudaSetDevice=46,cudaLaunchKernel=214" orders for a call.
cudaError_t ordered_failure(std::string_view call);
/// Ranges of addresses that count as device memory in copies.
void note_device_memory(void* data, size_t bytes);
void forget_device_memory(void* data);

}  // namespace emplace::standin
