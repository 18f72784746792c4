/// The machine that the stand-in shows: GPUs from a file, or one that tests can rely on.
#pragma once

#include <cstddef>

namespace emplace::standin {

/// From the current device's free memory. False: there is not as much.
bool take_memory(size_t bytes);
void give_back_memory(size_t bytes);
/// Ranges of addresses that count as device memory in copies.
void note_device_memory(void* data, size_t bytes);
void forget_device_memory(void* data);

}  // namespace emplace::standin
