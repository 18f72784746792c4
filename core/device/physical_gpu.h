/// Attributes of GPU cards that are not real: simulated ones and described ones.
#pragma once

#include <string>

#include "core/device/device.h"

namespace emplace {

/// Number `index` of a simulated machine: on bus index + 1, with a UUID whose first group counts the cards.
PhysicalGpu simulated_gpu(int index, int64_t memory);
/// A card of which nothing but (perhaps) the memory is known.
PhysicalGpu described_gpu(int64_t memory);

/// "device: 0, name: ..., pci bus id: ..., compute capability: 9.0", as TensorFlow prints it, with the id that the
/// process knows it by. Empty for a described card.
std::string physical_description(const PhysicalGpu& gpu);

}  // namespace emplace
