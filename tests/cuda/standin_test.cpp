// What the stand-in holds code to: a GPU and its host do not reach each other's memory.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

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

  REQUIRE(gpu->copy_in(x, host, sizeof host, Gpu::Lane::kCompute).ok());
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

}  // namespace
}  // namespace emplace::cuda::testing
