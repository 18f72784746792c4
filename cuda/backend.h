/// CudaBackend: finds and opens the machine's GPUs.
#pragma once

#include "core/device/gpu.h"
#include "cuda/log.h"

namespace emplace::cuda {

class CudaBackend final : public GpuBackend {
 public:
  void speak_to(GpuLog log) override { cuda::speak_to(log); }
  Result<std::vector<PhysicalGpu>> enumerate() override;
  bool peers(int platform_id, int other) override;
  void will_run(std::string_view op) override;
  Result<std::unique_ptr<Gpu>> open(const GpuOptions& options) override;
  Status collectives() const override;
  Result<std::string> make_collective_id() override;
  Result<std::unique_ptr<Kernel>> member_kernel(const KernelInit& init, const CollectiveSeat& seat) override;
  void give_up_collectives(std::string_view id) override;
  GpuKernel kernel(std::string_view op, DType type) const override;
  std::vector<std::pair<std::string_view, DTypeSet>> kernels() const override;
};

}  // namespace emplace::cuda
