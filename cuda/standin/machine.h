/// The machine that the stand-in shows: GPUs from a file, or one that tests can rely on.
#pragma once

#include <cstddef>

namespace emplace::standin {

/// From a device's free memory. False: there is not as much, or no such device.
bool take_memory(int device, size_t bytes);
void give_back_memory(int device, size_t bytes);
/// Ranges of addresses that count as device memory in copies.
void note_device_memory(void* data, size_t bytes);
void forget_device_memory(void* data);

}  // namespace emplace::standin
