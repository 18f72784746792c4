// The library has no header in the toolkit: its few functions and types are declared here, as NVML's documentation has
// them.
#include "cuda/nvml.h"

#include <cuda_runtime.h>
#include <unistd.h>

#include <array>

#include "core/base/cat.h"
#include "cuda/library.h"
#ifdef EMPLACE_STANDIN
#include "cuda/standin/machine.h"
#endif

namespace emplace::cuda {
namespace {

struct Device;
using Handle = Device*;
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

struct Nvml {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Handle*) = nullptr;
  int (*name)(Handle, char*, unsigned) = nullptr;
  int (*uuid)(Handle, char*, unsigned) = nullptr;
  int (*pci)(Handle, PciInfo*) = nullptr;
  int (*memory)(Handle, MemoryInfo*) = nullptr;
  int (*capability)(Handle, int*, int*) = nullptr;
  int (*by_uuid)(const char*, Handle*) = nullptr;
  int (*processes)(Handle, unsigned* count, ProcessInfo*) = nullptr;
};

Status find_functions(const Library& library, Nvml& nvml) {
  RETURN_IF_ERROR(library.find("nvmlInit_v2", nvml.init));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetCount_v2", nvml.count));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetHandleByIndex_v2", nvml.by_index));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetName", nvml.name));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetUUID", nvml.uuid));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetPciInfo_v3", nvml.pci));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetMemoryInfo", nvml.memory));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetHandleByUUID", nvml.by_uuid));
  RETURN_IF_ERROR(library.find("nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes));
  return library.find("nvmlDeviceGetCudaComputeCapability", nvml.capability);
}

/// What it cannot tell stays unknown.
PhysicalGpu card(const Nvml& nvml, unsigned index) {
  PhysicalGpu gpu;
  gpu.nvml_index = static_cast<int>(index);
  Handle handle = nullptr;
  if (nvml.by_index(index, &handle) != 0) return gpu;
  char text[96] = "";
  if (nvml.name(handle, text, sizeof text) == 0) gpu.name = text;
  if (nvml.uuid(handle, text, sizeof text) == 0) gpu.uuid = text;
  // As CUDA writes it: a domain of four digits.
  if (PciInfo pci = {}; nvml.pci(handle, &pci) == 0) {
    std::string id = pci.bus_id;
    gpu.pci_bus_id = id.size() > 12 ? id.substr(id.size() - 12) : id;
  }
  if (MemoryInfo memory = {}; nvml.memory(handle, &memory) == 0) {
    gpu.memory = static_cast<int64_t>(memory.total);
    gpu.free_memory = static_cast<int64_t>(memory.free);
  }
  int major = 0, minor = 0;
  if (nvml.capability(handle, &major, &minor) == 0) gpu.compute_capability = cat(major, ".", minor);
  return gpu;
}

Result<Nvml> open() {
  ASSIGN_OR_RETURN(Library library, Library::open("libnvidia-ml.so.1"));
  Nvml nvml;
  RETURN_IF_ERROR(find_functions(library, nvml));
  if (int error = nvml.init(); error != 0) return unavailable(cat("nvmlInit failed with error ", error));
  return nvml;
}

/// Initialised at the first call, for as long as the process lives: that takes longer than whatever is asked of it.
const Result<Nvml>& opened() {
  static const Result<Nvml> kOpened = open();
  return kOpened;
}

int64_t used_by_this_process(const Nvml& nvml, Handle handle) {
  std::array<ProcessInfo, 256> processes{};
  auto count = static_cast<unsigned>(processes.size());
  if (nvml.processes(handle, &count, processes.data()) != 0) return 0;
  for (unsigned i = 0; i < count && i < processes.size(); ++i) {
    const bool known = processes[i].used != ~0ull;
    if (known && processes[i].pid == static_cast<unsigned>(getpid())) return static_cast<int64_t>(processes[i].used);
  }
  return 0;
}

}  // namespace

Result<CardUse> nvml_use(const std::string& uuid) {
  RETURN_IF_ERROR(opened().status());
  const Nvml& nvml = *opened();
  Handle handle = nullptr;
  MemoryInfo memory = {};
  const int error = nvml.by_uuid(uuid.c_str(), &handle) != 0 ? 1 : nvml.memory(handle, &memory);
  const CardUse use{static_cast<int64_t>(memory.free), error ? 0 : used_by_this_process(nvml, handle)};
  if (error != 0) return unavailable("NVML does not know the card");
  return use;
}

Result<std::vector<PhysicalGpu>> nvml_cards() {
#ifdef EMPLACE_STANDIN
  if (std::vector<PhysicalGpu> cards = standin::listed_cards(); !cards.empty()) return cards;
#endif
  RETURN_IF_ERROR(opened().status());
  const Nvml& nvml = *opened();
  unsigned count = 0;
  std::vector<PhysicalGpu> cards;
  if (nvml.count(&count) == 0) {
    for (unsigned i = 0; i < count; ++i) cards.push_back(card(nvml, i));
  }
  return cards;
}

}  // namespace emplace::cuda
