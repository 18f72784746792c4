// Steps of several threads at the same time, as the towers of ps-async take them, on GPUs that they share or have to
// themselves.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <thread>

#include "cuda/gpu.h"
#include "cuda/standin/standin.h"
#include "tests/cuda/gpu_case.h"

namespace emplace::cuda::testing {
namespace {

using emplace::testing::f32;
using emplace::testing::floats;

/// A GPU that takes its time, and counts the calls of another thread than the one whose step began and has not waited
/// for its end.
class Owned final : public ForwardingGpu {
 public:
  Owned(std::unique_ptr<Gpu> gpu, std::atomic<int>& strangers) : ForwardingGpu(std::move(gpu)), strangers_(strangers) {}
  Result<uint64_t> copy_in(void* to, const void* from, size_t bytes, Lane lane,
                           std::shared_ptr<const void> keeps) override {
    return enter(), gpu_->copy_in(to, from, bytes, lane, std::move(keeps));
  }
  Status activate() override { return enter(), gpu_->activate(); }
  Status record(GpuEvent& event, Lane lane) override { return enter(), gpu_->record(event, lane); }
  Status finish(uint64_t ticket) override { return enter(), gpu_->finish(ticket); }
  Status wait_idle() override {
    enter();
    Status status = gpu_->wait_idle();
    owner_ = std::thread::id();
    return status;
  }

 private:
  void enter() {
    std::thread::id nobody;
    if (!owner_.compare_exchange_strong(nobody, std::this_thread::get_id()) && owner_ != std::this_thread::get_id())
      ++strangers_;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  std::atomic<std::thread::id> owner_;
  std::atomic<int>& strangers_;
};

class OwnedBackend final : public ForwardingBackend {
 public:
  std::atomic<int> strangers = 0;

 private:
  std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) override {
    return std::make_unique<Owned>(std::move(gpu), strangers);
  }
};

/// 4 x by way of `device` and the host, of a feed.
struct Tower {
  Tower(GpuCase& g, DeviceId device) {
    x = g.add({"Placeholder", {}, {{"dtype", AttrValue::of(DType::kFloat)}}, {DType::kFloat}, {}, {}, 0});
    Endpoint a = g.binary("AddV2", x, x, device), b = g.binary("Sub", a, x, device),
             c = g.binary("AddV2", a, b, device);
    y = g.binary("AddV2", g.binary("Sub", c, x, 0), g.binary("AddV2", x, x, device), 0);
  }
  Endpoint x, y;
};

/// Two threads take steps beside each other.
void check_two(DeviceId first, DeviceId second, GpuExec exec) {
  OwnedBackend backend;
  std::atomic<int> wrong = 0;
  {
    GpuCase g(backend);
    const Tower towers[] = {{g, first}, {g, second}};
    SessionOptions options;
    options.gpu.exec = exec;
    auto session = g.session(options).take();
    auto fed = [](int step) { return f32(Shape{3}, {static_cast<float>(step), 1, -2}); };
    for (const Tower& t : towers) {
      const int kind = session->add_step({{t.y}, {}, {t.x}, {}}, 2);
      REQUIRE(session->plan_step(kind, {fed(0)}).ok());
    }
    auto run = [&](int kind, int begin, int end) {
      std::vector<Tensor> out;
      for (int step = begin; step < end; ++step) {
        Status status = session->run_step(kind, {fed(step)}, out);
        wrong += !status.ok() || floats(out[0]) != std::vector<float>{4.0f * static_cast<float>(step), 4, -8};
      }
    };
    for (int kind : {0, 1}) run(kind, 0, 1);  // also waits for what was enqueued while they were planned
    std::thread other([&] { run(1, 1, 20); });
    run(0, 1, 20);
    other.join();
  }
  CHECK(wrong == 0);
  CHECK(backend.strangers == 0);
}

TEST_CASE("steps of two threads, each on a GPU of its own or both on one", "[host]") {
  for (GpuExec exec : {GpuExec::kEager, GpuExec::kGraph}) {
    for (uint64_t seed : {0, 3}) {
      standin::set_seed(seed);
      INFO("seed " << seed << (exec == GpuExec::kGraph ? ", recorded" : ""));
      check_two(kGpu0, kGpu1, exec);
      check_two(kGpu0, kGpu0, exec);
    }
  }
  standin::set_seed(0);
}

TEST_CASE("what another thread enqueues while a step is recorded is an error, and so are calls that might wait",
          "[host]") {
  auto gpu = CudaGpu::open({0, 0, int64_t{64} << 20}).take();
  auto compute = static_cast<cudaStream_t>(gpu->stream());
  auto beside = [](const auto& deed) {
    cudaError_t error = cudaSuccess;
    std::thread([&] { error = deed(); }).join();
    return error;
  };
  void *memory = nullptr, *more = nullptr;
  REQUIRE(cudaMalloc(&memory, 64) == cudaSuccess);
  auto clear = [&] { return cudaMemsetAsync(memory, 0, 64, compute); };

  REQUIRE(gpu->begin_recording().ok());
  CHECK(beside(clear) == cudaErrorStreamCaptureWrongThread);
  CHECK(beside([&] { return cudaMalloc(&more, 64); }) == cudaSuccess);  // a capture of another thread's own
  CHECK(clear() == cudaSuccess);
  CHECK(gpu->end_recording().ok());

  for (auto call : {+[](void**p, cudaStream_t) { return cudaMalloc(p, 64); },
                    +[](void**p, cudaStream_t) { return cudaHostAlloc(p, 64, 0); },
                    +[](void**, cudaStream_t s) { return cudaStreamSynchronize(s); }}) {
    void* got = nullptr;
    REQUIRE(gpu->begin_recording().ok());
    CHECK(call(&got, compute) == cudaErrorStreamCaptureUnsupported);
    CHECK_FALSE(gpu->end_recording().ok());
  }

  // The pool grows while a step is recorded.
  const int64_t page = gpu->page_bytes();
  std::byte* range = gpu->reserve(page).take();
  REQUIRE(gpu->begin_recording().ok());
  CHECK(gpu->map(range, page).ok());
  CHECK(gpu->unmap(range, page).ok());
  CHECK(clear() == cudaSuccess);
  CHECK(gpu->end_recording().ok());
  gpu->release(range, page);
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaFree(more) == cudaSuccess);
}

}  // namespace
}  // namespace emplace::cuda::testing
