#include "cuda/backend.h"

#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>

#include "core/base/cat.h"
#include "cuda/card_memory.h"
#include "cuda/collective.h"
#include "cuda/cublaslt.h"
#include "cuda/error.h"
#include "cuda/gpu.h"
#include "cuda/kernel_table.h"
#include "cuda/nccl.h"
#include "cuda/nvml.h"
#include "cuda/targets.h"

namespace emplace::cuda {
namespace {

std::string version_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

/// Why the runtime counts no device. Without a driver it answers "insufficient driver" and version 0.
Status no_device(cudaError_t error) {
  int driver = 0, runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  if (driver == 0) return unavailable("no NVIDIA driver on this machine");
  if (error == cudaErrorInsufficientDriver) {
    return unavailable(cat("the NVIDIA driver is too old: it runs CUDA ", version_text(driver), ", the plug-in needs ",
                           version_text(runtime)));
  }
  const char* mask = std::getenv("CUDA_VISIBLE_DEVICES");
  if (error == cudaErrorNoDevice && mask) {
    Result<std::vector<PhysicalGpu>> cards = nvml_cards();
    std::string all =
        cards.ok() && !cards->empty() ? cat("all ", cards->size(), cards->size() == 1 ? " GPU" : " GPUs") : "every GPU";
    return unavailable(cat("CUDA_VISIBLE_DEVICES=", mask, " hides ", all));
  }
  if (error == cudaErrorNoDevice) return unavailable("the NVIDIA driver finds no GPU");
  return unavailable(status_of(error, "cudaGetDeviceCount").message());
}

Result<PhysicalGpu> card(int device) {
  cudaDeviceProp properties;
  CUDA_TRY(cudaGetDeviceProperties(&properties, device));
  char bus[32] = "";
  CUDA_TRY(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  PhysicalGpu gpu;
  gpu.name = properties.name;
  gpu.pci_bus_id = bus;
  ASSIGN_OR_RETURN(gpu.uuid, card_uuid(device));
  gpu.compute_capability = cat(properties.major, ".", properties.minor);
  gpu.memory = static_cast<int64_t>(properties.totalGlobalMem);
  gpu.free_memory = gpu.memory;
  if (targets_fit(built_targets(), properties.major, properties.minor))
    gpu.platform_id = device;
  else
    gpu.unusable = cat("its compute capability is ", gpu.compute_capability, ", this plug-in is built for ",
                       targets_text(built_targets()), "; build it where the card is, or with `cmake --preset cuda`");
  return gpu;
}

}  // namespace

Result<std::vector<PhysicalGpu>> CudaBackend::enumerate() {
  // NVML starts while the driver does, by a thread of its own if there is one to be had; where there is no driver, not
  // at all.
  const bool driver = access("/dev/nvidiactl", F_OK) == 0;
  std::future<Result<std::vector<PhysicalGpu>>> by_nvml =
      std::async(driver ? std::launch::async | std::launch::deferred : std::launch::deferred, nvml_cards);
  int count = 0;
  if (cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) return no_device(error);
  // A process that was given a MIG instance sees it as a device of its own, with the instance's memory and UUID: one
  // that NVML lists for no card, or, where NVML tells nothing, that the mask calls so.
  const char* mask = std::getenv("CUDA_VISIBLE_DEVICES");
  const bool masked_instances = mask && std::string_view(mask).starts_with("MIG-");
  std::vector<PhysicalGpu> cards;
  if (Result<std::vector<PhysicalGpu>> all = by_nvml.get(); all.ok()) cards = all.take();
  const bool listed = !cards.empty();
  for (int device = 0; device < count; ++device) {
    ASSIGN_OR_RETURN(PhysicalGpu visible, card(device));
    auto known = std::find_if(cards.begin(), cards.end(), [&](const PhysicalGpu& g) { return g.uuid == visible.uuid; });
    if (known == cards.end()) {
      if (listed || masked_instances) visible.uuid.replace(0, 3, "MIG");
      cards.push_back(std::move(visible));
      continue;
    }
    visible.nvml_index = known->nvml_index;
    visible.free_memory = known->free_memory;
    *known = std::move(visible);
  }
  return cards;
}

bool CudaBackend::peers(int platform_id, int other) {
  int can = 0;
  return cudaDeviceCanAccessPeer(&can, platform_id, other) == cudaSuccess && can != 0;
}

// Which takes as long as to create a context, and nothing of a context.
void CudaBackend::will_run(std::string_view op) {
  if (op.ends_with("MatMul") || op.ends_with("MatMulV2")) LtProduct::load_soon();
}

Result<std::unique_ptr<Gpu>> CudaBackend::open(const GpuOptions& options) { return CudaGpu::open(options); }

Status CudaBackend::collectives() const { return nccl_there(); }

Result<std::string> CudaBackend::make_collective_id() { return Communicator::make_id(); }

Result<std::unique_ptr<Kernel>> CudaBackend::member_kernel(const KernelInit& init, const CollectiveSeat& seat) {
  return make_member(init, seat);
}

void CudaBackend::give_up_collectives(std::string_view id) { Communicator::give_up(id); }

GpuKernel CudaBackend::kernel(std::string_view op, DType type) const {
  const KernelTable::Entry* entry = kernel_table().find(op, type);
  return entry ? GpuKernel{true, entry->maker, !entry->waits, entry->gives_way} : GpuKernel{};
}

std::vector<std::pair<std::string_view, DTypeSet>> CudaBackend::kernels() const {
  std::vector<std::pair<std::string_view, DTypeSet>> all;
  for (const auto& [op, entries] : kernel_table().entries()) {
    DTypeSet types;
    for (const KernelTable::Entry& e : entries) types = types | e.types;
    all.emplace_back(op, types);
  }
  return all;
}

}  // namespace emplace::cuda
