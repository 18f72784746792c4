// What the stand-in holds code to: a GPU and its host do not reach each other's memory.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cuda/backend.h"
#include "cuda/launch.h"

namespace emplace::cuda::testing {
namespace {

/// Does this end a process?
bool is_deadly(const std::function<void()>& deed) {
  const pid_t child = fork();
  if (child == 0) {
    for (int s : {SIGSEGV, SIGABRT, SIGBUS}) signal(s, SIG_DFL);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    deed();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

__global__ void add_one_kernel(float* x) { x[threadIdx.x] += 1; }

TEST_CASE("host code does not touch device memory, kernels and copies do", "[host]") {
  CudaBackend backend;
  auto gpu = backend.open({}).take();
  const int64_t page = gpu->page_bytes();
  std::byte* memory = gpu->reserve(2 * page).take();
  REQUIRE(gpu->map(memory, page).ok());
  auto* x = reinterpret_cast<float*>(memory);
  auto stream = static_cast<cudaStream_t>(gpu->stream());
  alignas(64) float host[64] = {1, 2, 3};
  float* const local = host + 4;

  REQUIRE(gpu->copy_in(x, host, sizeof host, Gpu::Lane::kCompute, nullptr).ok());
  REQUIRE(launch(Barriers::kNone, add_one_kernel, dim3(1), dim3(3), 0, stream, x).ok());
  REQUIRE(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  REQUIRE(gpu->wait_idle().ok());
  CHECK(host[2] == 4);

  CHECK(is_deadly([&] { x[0] = 1; }));
  CHECK(is_deadly([&] { host[0] = x[0]; }));
  CHECK(is_deadly([&] { (void)launch(Barriers::kNone, add_one_kernel, dim3(1), dim3(3), 0, stream, local); }));
  CHECK(is_deadly([&] {
    (void)launch(Barriers::kNone, add_one_kernel, dim3(1), dim3(3), 0, stream, reinterpret_cast<float*>(memory + page));
  }));
  CHECK(cudaMemcpyAsync(host, x, 4, cudaMemcpyHostToDevice, stream) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(x, local, 4, cudaMemcpyDeviceToDevice, stream) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(host, 0, 4, stream) == cudaErrorInvalidValue);

  REQUIRE(gpu->unmap(memory, page).ok());
  gpu->release(memory, 2 * page);
}

/// Sums the block's own numbers, which nobody may find there before they are written.
__global__ void shared_kernel(float* out, bool writes) {
  EMPLACE_BLOCK_SHARED(float, slots, [4]);
  if (writes) slots[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = slots[0] + slots[1] + slots[2] + slots[3];
}
/// What came last, whose order is nobody's to count on.
__global__ void order_kernel(int* seen, int* next) { seen[(*next)++] = static_cast<int>(blockIdx.x * 4 + threadIdx.x); }
__global__ void barrier_kernel(float* out) {
  __syncthreads();
  out[threadIdx.x] = 1;
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
  return stream;
}

TEST_CASE("the stand-in refuses in a capture what CUDA refuses", "[host]") {
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaEvent_t before = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&before, cudaEventDisableTiming) == cudaSuccess);
  REQUIRE(cudaEventRecord(before, other) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(stream, before, 0) == cudaErrorStreamCaptureIsolation);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);

  // A kernel whose code comes with its first launch.
  float* none = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK_FALSE(launch(Barriers::kBlock, barrier_kernel, dim3(1), dim3(1), 0, stream, none).ok());
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(standin::launch(false, nullptr, dim3(0), dim3(1), 0, stream, [] {}) == cudaErrorInvalidConfiguration);
  for (cudaStream_t s : {stream, other}) REQUIRE(cudaStreamDestroy(s) == cudaSuccess);
  REQUIRE(cudaEventDestroy(before) == cudaSuccess);
}

enum class Divergence { kNone, kAnotherPlace, kEnded, kOnlySome };
__global__ void diverging_kernel(Divergence kind) {
  if (kind == Divergence::kEnded && threadIdx.x > 2) return;
  if (kind == Divergence::kAnotherPlace && threadIdx.x % 2 == 0)
    __syncthreads();
  else
    __syncthreads();
  if (kind == Divergence::kOnlySome && threadIdx.x == 0) return;
  for (int i = 0; i < 2; ++i) __syncthreads();
}

TEST_CASE("a barrier that not all threads come to ends the process, one of a loop does not", "[host]") {
  auto run = [](Divergence kind) {
    cudaStream_t stream = new_stream();
    (void)launch(Barriers::kBlock, diverging_kernel, dim3(2), dim3(4), 0, stream, kind);
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
  };
  CHECK_FALSE(is_deadly([&] { run(Divergence::kNone); }));
  for (Divergence kind : {Divergence::kAnotherPlace, Divergence::kEnded, Divergence::kOnlySome})
    CHECK(is_deadly([&] { run(kind); }));
}

TEST_CASE("shared memory holds nothing when a block begins", "[host]") {
  cudaStream_t stream = new_stream();
  float* out = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&out), 64) == cudaSuccess);
  float got[2] = {};
  for (bool writes : {true, false}) {
    REQUIRE(launch(Barriers::kBlock, shared_kernel, dim3(2), dim3(4), 0, stream, out, writes).ok());
    REQUIRE(cudaMemcpyAsync(got, out, sizeof got, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    for (float sum : got) CHECK((writes ? sum == 4 : sum != 4));
  }
  REQUIRE(cudaFree(out) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("threads and blocks come in any order, each once", "[host]") {
  cudaStream_t stream = new_stream();
  int* memory = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 17 * sizeof(int)) == cudaSuccess);
  auto order = [&](standin::Order how, uint64_t seed) {
    standin::set_order(how, seed);
    int seen[17] = {};
    REQUIRE(cudaMemcpyAsync(memory, seen, sizeof seen, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    REQUIRE(launch(Barriers::kNone, order_kernel, dim3(4), dim3(4), 0, stream, memory, memory + 16).ok());
    REQUIRE(cudaMemcpyAsync(seen, memory, sizeof seen, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    return std::vector<int>(seen, seen + 16);
  };
  std::vector<int> normal = order(standin::Order::kNormal, 1), reverse = order(standin::Order::kReverse, 1);
  CHECK(std::is_sorted(normal.begin(), normal.end()));
  CHECK(std::is_sorted(reverse.rbegin(), reverse.rend()));
  std::set<std::vector<int>> drawn;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    std::vector<int> seen = order(standin::Order::kRandom, seed);
    drawn.insert(seen);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == normal);
  }
  CHECK(drawn.size() > 5);
  standin::set_order(standin::Order::kNormal);
  REQUIRE(cudaFree(memory) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("by every third seed one stream goes before the other as long as it can", "[host]") {
  std::set<std::string> orders;
  for (uint64_t seed = 3; seed <= 60; seed += 3) {
    standin::set_seed(seed);
    cudaStream_t streams[2];
    for (cudaStream_t& s : streams) REQUIRE(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, 0) == cudaSuccess);
    std::string order;
    for (int i = 0; i < 4; ++i) {
      for (int s : {0, 1})
        (void)standin::launch(false, &order, dim3(1), dim3(1), 0, streams[s], [&order, s] { order += s ? 'b' : 'a'; });
    }
    for (cudaStream_t s : streams) REQUIRE(cudaStreamSynchronize(s) == cudaSuccess);
    orders.insert(order);
    for (cudaStream_t s : streams) REQUIRE(cudaStreamDestroy(s) == cudaSuccess);
  }
  standin::set_seed(0);
  CHECK(orders == std::set<std::string>{"aaaabbbb", "bbbbaaaa"});
}

}  // namespace
}  // namespace emplace::cuda::testing
