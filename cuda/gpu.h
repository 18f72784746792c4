/// CudaGpu: a logical GPU: streams, staging, pages, recordings.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <memory>

#include "core/device/gpu.h"
#include "cuda/device_state.h"
#include "cuda/lanes.h"
#include "cuda/pages.h"

namespace emplace::cuda {

class CudaGpu final : public Gpu {
 public:
  static Result<std::unique_ptr<Gpu>> open(const GpuOptions& options);
  ~CudaGpu() override;

  Status activate() override;
  void* stream(Lane lane) override { return use(lane); }
  void* kernel_state() override { return &state_; }

  int64_t page_bytes() const override { return pages_.page_bytes(); }
  Result<std::byte*> reserve(int64_t bytes) override;
  void release(std::byte* range, int64_t bytes) override;
  Status map(std::byte* at, int64_t bytes) override;
  Status unmap(std::byte* at, int64_t bytes) override;

  Result<uint64_t> copy_in(void* to, const void* from, size_t bytes, Lane lane,
                           std::shared_ptr<const void> keeps) override;
  Result<uint64_t> copy_out(void* to, const void* from, size_t bytes, Lane lane) override;
  Status finish(uint64_t ticket) override;
  Status copy_peer(void* to, Gpu& other, const void* from, size_t bytes, Lane lane) override;

  Result<std::unique_ptr<GpuEvent>> make_event() override;
  Status record(GpuEvent& event, Lane lane) override;
  Status wait_for(GpuEvent& event, Lane lane) override;
  Status wait_idle() override;

  bool chains(const Kernel& kernel) const override;
  Result<std::unique_ptr<Kernel>> compile(const GpuChain& chain) override;

  std::optional<int64_t> overhead_bytes() override;

  Status begin_recording() override;
  Result<std::unique_ptr<GpuRecording>> end_recording() override;

 private:
  CudaGpu(const GpuOptions& options, Pages pages, std::unique_ptr<Lanes> lanes);
  cudaStream_t of(Lane lane) const { return lanes_->streams[static_cast<size_t>(lane)]; }
  /// To enqueue work in it.
  cudaStream_t use(Lane lane) {
    used_ |= 1u << static_cast<unsigned>(lane);
    return of(lane);
  }

  DeviceState state_;
  Pages pages_;
  std::unique_ptr<Lanes> lanes_;
  std::atomic<uint32_t> used_{0};  // a bit for each lane that may have work since the last wait_idle()
};

}  // namespace emplace::cuda
