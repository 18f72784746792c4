// What this GPU can do, measured without emplace: the yardsticks of tests/gpu/bench.py. Prints JSON. Timed with events:
// three runs to warm up, then the median of twenty.
//   emplace_gpu_limits            all of it
//   emplace_gpu_limits context    makes a context and ends: what every process on a GPU takes, to be timed from outside
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

template <class F>
double median_ms(const F& enqueue) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 23; ++i) {
    CHECK(cudaEventRecord(begin, nullptr));
    enqueue();
    CHECK(cudaEventRecord(end, nullptr));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 3) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char**) {
  auto start = std::chrono::steady_clock::now();
  CHECK(cudaFree(nullptr));
  double context_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (argc > 1) return 0;
  constexpr size_t kBytes = size_t{1} << 30;
  void *a = nullptr, *b = nullptr, *host = nullptr;
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaHostAlloc(&host, kBytes, cudaHostAllocDefault));
  CHECK(cudaMemset(a, 1, kBytes));
  double copy = median_ms([&] { CHECK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, nullptr)); });
  double in = median_ms([&] { CHECK(cudaMemcpyAsync(a, host, kBytes, cudaMemcpyHostToDevice, nullptr)); });
  double out = median_ms([&] { CHECK(cudaMemcpyAsync(host, a, kBytes, cudaMemcpyDeviceToHost, nullptr)); });
  std::printf("{\"context_ms\": %.3f, \"copy_gb_s\": %.1f, \"h2d_gb_s\": %.2f, \"d2h_gb_s\": %.2f}\n", context_ms,
              2 * kBytes / copy / 1e6, kBytes / in / 1e6, kBytes / out / 1e6);
  return 0;
}
