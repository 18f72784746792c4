/// The machine that the stand-in shows: GPUs from a file, or one that tests can rely on.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/device/device.h"

namespace emplace::standin {

/// From a device's free memory. False: there is not as much, or no such device.
bool take_memory(int device, size_t bytes);
void give_back_memory(int device, size_t bytes);
/// What NVML would list: the cards of EMPLACE_STANDIN_NVML, a file like EMPLACE_STANDIN_MACHINE's.
std::vector<PhysicalGpu> listed_cards();
/// What EMPLACE_STANDIN_FAILS="cudaSetDevice=46,cudaStreamCreateWithPriority@3=2" orders for a call: always, or for the
/// third of its name since that was ordered.
cudaError_t ordered_failure(std::string_view call);
/// A call that takes a context: the thread's current card gets one if it has none, the first card where the thread has
/// not chosen any.
void need_context();
uint64_t calls_without_card();
/// Ranges of addresses that count as device memory in copies.
void note_device_memory(void* data, size_t bytes);
void forget_device_memory(void* data);

}  // namespace emplace::standin
