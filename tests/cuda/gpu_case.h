/// GpuCase: a graph made in C++, on the plug-in's GPUs on the stand-in; ForwardingGpu: what tests put before such a
/// GPU.
#pragma once

#include <memory>
#include <string>

#include "cuda/backend.h"
#include "tests/unit/run/run_case.h"

namespace emplace::cuda::testing {

inline constexpr DeviceId kGpu0 = 1, kGpu1 = 2;

/// Two logical GPUs on the stand-in's card.
struct GpuCase : emplace::testing::RunCase {
  explicit GpuCase(GpuBackend& backend, int64_t memory = int64_t{64} << 20) : RunCase(2, memory) {
    devices.gpus = &backend;
    devices.physical_gpus = backend.enumerate().take();
    for (Device& d : devices.devices) {
      if (d.type != "GPU") continue;
      d.kind = DeviceKind::kCuda;
      d.physical_gpu = 0;
    }
  }
  Endpoint binary(std::string op, Endpoint a, Endpoint b, DeviceId device) {
    return add({std::move(op), {a, b}, {}, {DType::kFloat}, {}, {}, device});
  }
};

/// Hands on every call.
class ForwardingGpu : public Gpu {
 public:
  explicit ForwardingGpu(std::unique_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  int64_t page_bytes() const override { return gpu_->page_bytes(); }
  Result<std::byte*> reserve(int64_t bytes) override { return gpu_->reserve(bytes); }
  void release(std::byte* range, int64_t bytes) override { gpu_->release(range, bytes); }
  Status map(std::byte* at, int64_t bytes) override { return gpu_->map(at, bytes); }
  Status unmap(std::byte* at, int64_t bytes) override { return gpu_->unmap(at, bytes); }
  Status activate() override { return gpu_->activate(); }
  void* stream(Lane lane) override { return gpu_->stream(lane); }
  void* kernel_state() override { return gpu_->kernel_state(); }
  Result<uint64_t> copy_in(void* to, const void* from, size_t bytes, Lane lane,
                           std::shared_ptr<const void> keeps) override {
    return gpu_->copy_in(to, from, bytes, lane, std::move(keeps));
  }
  Result<uint64_t> copy_out(void* to, const void* from, size_t bytes, Lane lane) override {
    return gpu_->copy_out(to, from, bytes, lane);
  }
  Status finish(uint64_t ticket) override { return gpu_->finish(ticket); }
  Status copy_peer(void* to, Gpu& other, const void* from, size_t bytes, Lane lane) override {
    return gpu_->copy_peer(to, *static_cast<ForwardingGpu&>(other).gpu_, from, bytes, lane);
  }
  Result<std::unique_ptr<GpuEvent>> make_event() override { return gpu_->make_event(); }
  Status record(GpuEvent& event, Lane lane) override { return gpu_->record(event, lane); }
  Status wait_for(GpuEvent& event, Lane lane) override { return gpu_->wait_for(event, lane); }
  Status wait_idle() override { return gpu_->wait_idle(); }
  Status begin_recording() override { return gpu_->begin_recording(); }
  Result<std::unique_ptr<GpuRecording>> end_recording() override { return gpu_->end_recording(); }

 protected:
  const std::unique_ptr<Gpu> gpu_;
};

class ForwardingBackend : public GpuBackend {
 public:
  Result<std::unique_ptr<Gpu>> open(const GpuOptions& options) override {
    ASSIGN_OR_RETURN(auto gpu, backend_.open(options));
    return wrap(std::move(gpu));
  }
  Result<std::vector<PhysicalGpu>> enumerate() override { return backend_.enumerate(); }
  bool peers(int a, int b) override { return backend_.peers(a, b); }
  GpuKernel kernel(std::string_view op, DType type) const override { return backend_.kernel(op, type); }
  std::vector<std::pair<std::string_view, DTypeSet>> kernels() const override { return backend_.kernels(); }

 private:
  virtual std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) = 0;
  CudaBackend backend_;
};

}  // namespace emplace::cuda::testing
