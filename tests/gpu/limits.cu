// What this GPU can do, measured without emplace: the yardsticks of tests/gpu/bench.py. Prints JSON. Timed with events:
// three runs to warm up, then the median of twenty.
//   emplace_gpu_limits            all of it
//   emplace_gpu_limits context    makes a context and ends: what every process on a GPU takes, to be timed from outside
//   emplace_gpu_limits mode       "exclusive" if the card takes one process at a time, else "shared"
//   emplace_gpu_limits facts      properties, and what pages of the driver's virtual memory cost
//   emplace_gpu_limits cudnn      the card as cuDNN describes it: with that, tests/cuda/cudnn_test.cpp plans for it
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
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

int attribute(cudaDeviceAttr which) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

template <class F>
F driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  if (!found) check(cudaErrorSymbolNotFound, name);
  return reinterpret_cast<F>(found);
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Milliseconds of a GiB in pages of so many bytes: create and map, set access, take away.
void page_costs(size_t page) {
  const auto reserve = driver_function<decltype(&cuMemAddressReserve)>("cuMemAddressReserve");
  const auto release = driver_function<decltype(&cuMemAddressFree)>("cuMemAddressFree");
  const auto create = driver_function<decltype(&cuMemCreate)>("cuMemCreate");
  const auto destroy = driver_function<decltype(&cuMemRelease)>("cuMemRelease");
  const auto map = driver_function<decltype(&cuMemMap)>("cuMemMap");
  const auto unmap = driver_function<decltype(&cuMemUnmap)>("cuMemUnmap");
  const auto set_access = driver_function<decltype(&cuMemSetAccess)>("cuMemSetAccess");
  constexpr size_t kAll = size_t{1} << 30;
  CUmemAllocationProp wanted = {};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  auto ok = [](CUresult result) { check(static_cast<cudaError_t>(result), "a page call"); };
  CUdeviceptr range = 0;
  ok(reserve(&range, kAll, page, 0, 0));
  std::vector<CUmemGenericAllocationHandle> handles(kAll / page);
  const double begin = now_ms();
  for (size_t i = 0; i < handles.size(); ++i) {
    ok(create(&handles[i], page, &wanted, 0));
    ok(map(range + i * page, page, 0, handles[i], 0));
  }
  const double mapped = now_ms();
  ok(set_access(range, kAll, &access, 1));
  const double open = now_ms();
  for (size_t i = 0; i < handles.size(); ++i) {
    ok(unmap(range + i * page, page));
    ok(destroy(handles[i]));
  }
  const double gone = now_ms();
  ok(release(range, kAll));
  std::printf(
      "\"pages_of_%zu_mib\": {\"create_and_map_ms_per_gib\": %.3f, \"set_access_ms_per_gib\": %.3f, "
      "\"unmap_ms_per_gib\": %.3f}",
      page >> 20, mapped - begin, open - mapped, gone - open);
}

void print_facts(double context_ms) {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  int driver = 0, runtime = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  std::printf(
      "{\"name\": \"%s\", \"compute_capability\": \"%d.%d\", \"processors\": %d, \"memory\": %zu, \"l2\": %d, "
      "\"driver\": %d, \"runtime\": %d, \"compute_mode\": %d, \"ecc\": %d, \"context_ms\": %.3f, ",
      p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem, p.l2CacheSize, driver, runtime,
      attribute(cudaDevAttrComputeMode), attribute(cudaDevAttrEccEnabled), context_ms);
  page_costs(size_t{2} << 20);
  std::printf(", ");
  page_costs(size_t{16} << 20);
  std::printf("}\n");
}

template <class F>
F function_of(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (!found) std::fprintf(stderr, "cuDNN lacks %s\n", name), std::exit(1);
  return reinterpret_cast<F>(found);
}

/// By cuDNN's backend, without its headers: the values are cudnn_graph.h's.
void print_cudnn_card() {
  constexpr int kCard = 38, kDeviceId = 2700, kJson = 2702, kInt32 = 23, kChar = 24;
  const char* folder = std::getenv("EMPLACE_CUDA_LIB_DIR");
  const std::string name = "libcudnn.so.9";
  void* library = folder ? dlopen((std::string(folder) + "/" + name).c_str(), RTLD_NOW) : nullptr;
  if (!library) library = dlopen(name.c_str(), RTLD_NOW);
  if (!library) std::fprintf(stderr, "%s\n", dlerror()), std::exit(1);
  const auto make = function_of<int (*)(int, void**)>(library, "cudnnBackendCreateDescriptor");
  const auto set = function_of<int (*)(void*, int, int, int64_t, const void*)>(library, "cudnnBackendSetAttribute");
  const auto finalize = function_of<int (*)(void*)>(library, "cudnnBackendFinalize");
  const auto get = function_of<int (*)(void*, int, int, int64_t, int64_t*, void*)>(library, "cudnnBackendGetAttribute");
  auto ok = [](int status, const char* call) {
    if (status != 0) std::fprintf(stderr, "cuDNN, %s: status %d\n", call, status), std::exit(1);
  };
  void* card = nullptr;
  const int32_t device = 0;
  int64_t length = 0;
  ok(make(kCard, &card), "create");
  ok(set(card, kDeviceId, kInt32, 1, &device), "set");
  ok(finalize(card), "finalize");
  ok(get(card, kJson, kChar, 0, &length, nullptr), "get the length");
  std::string text(static_cast<size_t>(length), ' ');
  ok(get(card, kJson, kChar, length, &length, text.data()), "get");
  std::puts(text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "mode") {
    const int mode = attribute(cudaDevAttrComputeMode);
    std::puts(mode == cudaComputeModeExclusiveProcess || mode == cudaComputeModeExclusive ? "exclusive" : "shared");
    return 0;
  }
  auto start = std::chrono::steady_clock::now();
  CHECK(cudaFree(nullptr));
  double context_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (what == "facts") print_facts(context_ms);
  if (what == "cudnn") print_cudnn_card();
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
