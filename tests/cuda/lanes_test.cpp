// What a GPU makes of the driver, and gives back: streams where not all of them can be made, and contexts of cards that
// are none of its business.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "cuda/gpu.h"
#include "cuda/staging.h"
#include "cuda/standin/open_things.h"
#include "cuda/standin/standin.h"

namespace emplace::cuda::testing {
namespace {

/// What the driver answers, for as long as this lives.
struct Ordered {
  explicit Ordered(const std::string& orders) { setenv("EMPLACE_STANDIN_FAILS", orders.c_str(), 1); }
  ~Ordered() { unsetenv("EMPLACE_STANDIN_FAILS"); }
};

constexpr int kOnlyHere = -77;  // a priority whose streams no other test has left

TEST_CASE("a GPU of which not all streams can be made leaves none, and the next one makes all", "[host]") {
  const uint64_t before = standin::open_things().streams;
  for (int nth = 1; nth <= Gpu::kNumLanes; ++nth) {
    INFO("stream " << nth);
    const Ordered failure("cudaStreamCreateWithPriority@" + std::to_string(nth) + "=2");
    CHECK(CudaGpu::open({0, kOnlyHere, int64_t{1} << 20}).status().code() == Code::kResourceExhausted);
    CHECK(standin::open_things().streams == before);
  }
  for (int time = 0; time < 2; ++time) {  // which the second GPU takes over
    CHECK(CudaGpu::open({0, kOnlyHere, int64_t{1} << 20}).ok());
    CHECK(standin::open_things().streams == before + Gpu::kNumLanes);
  }
}

TEST_CASE("an idle GPU has nothing left to do in any lane, whoever enqueued it", "[host]") {
  for (uint64_t seed : {1, 2, 3, 6, 9}) {
    INFO("seed " << seed);
    standin::set_seed(seed);
    auto gpu = CudaGpu::open({0, 0, int64_t{1} << 20}).take();
    const auto compute = static_cast<cudaStream_t>(gpu->stream());  // kernels keep it
    REQUIRE(gpu->wait_idle().ok());
    for (int lane = -1; lane < Gpu::kNumLanes; ++lane) {
      INFO("lane " << lane);
      bool done = false;
      cudaStream_t stream = lane < 0 ? compute : static_cast<cudaStream_t>(gpu->stream(static_cast<Gpu::Lane>(lane)));
      REQUIRE(cudaLaunchHostFunc(
                  stream, [](void* to) { *static_cast<bool*>(to) = true; }, &done) == cudaSuccess);
      CHECK_FALSE(done);
      REQUIRE(gpu->wait_idle().ok());
      CHECK(done);
      if (!done) REQUIRE(cudaDeviceSynchronize() == cudaSuccess);  // `done` goes away
    }
  }
  standin::set_seed(0);
}

TEST_CASE("copies of which not all streams can be made leave none", "[host]") {
  const standin::OpenThings before = standin::open_things();
  cudaStream_t lane = nullptr;
  void* memory = nullptr;
  const std::string sent(2 * Staging::kRing, 'x');
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaMalloc(&memory, sent.size()) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithPriority(&lane, cudaStreamNonBlocking, 0) == cudaSuccess);
  for (int nth = 1; nth <= 2; ++nth) {
    INFO("stream " << nth);
    Staging staging;
    {
      const Ordered failure("cudaStreamCreateWithPriority@" + std::to_string(nth) + "=2");
      CHECK_FALSE(staging.copy_in(memory, sent.data(), sent.size(), lane).ok());
    }
    REQUIRE(staging.copy_in(memory, sent.data(), sent.size(), lane).ok());  // with those that there were, and the rest
    REQUIRE(staging.finish(~uint64_t{0}).ok());
  }
  REQUIRE(cudaStreamDestroy(lane) == cudaSuccess);
  REQUIRE(cudaFree(memory) == cudaSuccess);
  CHECK(standin::open_things().streams == before.streams);
  CHECK(standin::open_things().events == before.events);
}

TEST_CASE("whatever a thread does first with a GPU, no other card gets a context", "[host]") {
  auto gpu = CudaGpu::open({1, 0, int64_t{64} << 20}).take();
  auto other = CudaGpu::open({3, 0, int64_t{64} << 20}).take();  // a way that no other test breaks
  const int64_t page = gpu->page_bytes();
  std::byte *memory = gpu->reserve(2 * page).take(), *source = other->reserve(page).take();
  REQUIRE(gpu->map(memory, page).ok());
  REQUIRE(other->map(source, page).ok());
  std::unique_ptr<GpuEvent> event = gpu->make_event().take(), made;
  std::unique_ptr<GpuRecording> recording;
  uint64_t ticket = 0;
  char bytes[4] = {};
  constexpr Gpu::Lane kLane = Gpu::Lane::kToHost;
  const std::vector<std::pair<const char*, std::function<Status()>>> calls{
      {"copy_in", [&] { return gpu->copy_in(memory, bytes, 4, kLane, nullptr).status(); }},
      {"record", [&] { return gpu->record(*event, kLane); }},
      {"wait_for", [&] { return gpu->wait_for(*event, Gpu::Lane::kPeer); }},
      {"copy_out",
       [&] {
         auto out = gpu->copy_out(bytes, memory, 4, kLane);
         ticket = out.ok() ? *out : 0;
         return out.status();
       }},
      {"finish", [&] { return gpu->finish(ticket); }},
      {"copy_peer", [&] { return gpu->copy_peer(memory, *other, source, 4, Gpu::Lane::kPeer); }},
      {"wait_idle", [&] { return gpu->wait_idle(); }},
      {"make_event",
       [&] {
         made = gpu->make_event().take();
         return ok_status();
       }},
      {"an event's end",
       [&] {
         made.reset();
         return ok_status();
       }},
      {"map", [&] { return gpu->map(memory + page, page); }},
      {"unmap", [&] { return gpu->unmap(memory + page, page); }},
      {"recording",
       [&] {
         RETURN_IF_ERROR(gpu->begin_recording());
         ASSIGN_OR_RETURN(recording, gpu->end_recording());
         return ok_status();
       }},
      {"replay", [&] { return recording->replay(); }},
      {"a recording's end",
       [&] {
         recording.reset();
         return ok_status();
       }},
      {"overhead_bytes", [&] { return gpu->overhead_bytes() ? ok_status() : internal_error("unknown"); }},
      {"another graph's GPU",
       [&] {
         return CudaGpu::open({2, 0, int64_t{64} << 20}).status();
       }},
      {"the end",
       [&] {
         RETURN_IF_ERROR(gpu->unmap(memory, page));
         gpu->release(memory, 2 * page);
         gpu.reset();
         return ok_status();
       }},
  };
  for (const auto& [name, call] : calls) {
    INFO(name);
    const uint64_t before = standin::open_things().calls_without_card;
    Status status;
    std::thread([&, &run = call] { status = run(); }).join();
    CHECK(status.message() == "");
    CHECK(standin::open_things().calls_without_card == before);
  }
  REQUIRE(other->unmap(source, page).ok());
  other->release(source, page);
}

}  // namespace
}  // namespace emplace::cuda::testing
