#include "core/device/physical_gpu.h"

#include <cstdio>

#include "core/base/cat.h"

namespace emplace {
PhysicalGpu simulated_gpu(int index, int64_t memory) {
  PhysicalGpu gpu;
  char text[48];
  std::snprintf(text, sizeof text, "%04x:%02x:00.0", index / 255, index % 255 + 1);
  gpu.pci_bus_id = text;
  std::snprintf(text, sizeof text, "GPU-%08x-73a1-4d75-8c61-74655f677075", index);
  gpu.uuid = text;
  gpu.name = "Simulated GPU";
  gpu.compute_capability = "0.0";
  gpu.memory = memory;
  return gpu;
}

PhysicalGpu described_gpu(int64_t memory) {
  PhysicalGpu gpu;
  gpu.name = "Described GPU";
  gpu.memory = memory;
  return gpu;
}

std::string physical_description(const PhysicalGpu& gpu) {
  if (gpu.pci_bus_id.empty()) return {};
  return cat("device: ", gpu.platform_id, ", name: ", gpu.name, ", pci bus id: ", gpu.pci_bus_id,
             ", compute capability: ", gpu.compute_capability);
}

}  // namespace emplace
