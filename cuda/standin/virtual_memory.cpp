// Addresses without access, made accessible page by page: what is touched after its page is gone ends the process.
#include <sys/mman.h>

#include <map>
#include <mutex>
#include <string_view>

#include "cuda/standin/cuda.h"
#include "cuda/standin/machine.h"
#include "cuda/standin/memory.h"
#include "cuda/standin/standin.h"

namespace {

constexpr size_t kPage = size_t{2} << 20;

std::mutex mutex;
std::map<CUmemGenericAllocationHandle, size_t> handles;  // guarded by mutex
CUmemGenericAllocationHandle next_handle = 1;            // guarded by mutex

void* pointer(CUdeviceptr p) { return reinterpret_cast<void*>(p); }

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kPage;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* range, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long) {
  if (bytes == 0 || bytes % kPage != 0) return CUDA_ERROR_INVALID_VALUE;
  void* base = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  auto begin = reinterpret_cast<CUdeviceptr>(base), aligned = (begin + alignment - 1) / alignment * alignment;
  if (aligned > begin) munmap(base, aligned - begin);
  if (size_t rest = begin + alignment - aligned; rest > 0) munmap(pointer(aligned + bytes), rest);
  *range = aligned;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr range, size_t bytes) {
  return munmap(pointer(range), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*, unsigned long long) {
  if (bytes == 0 || bytes % kPage != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!emplace::standin::take_memory(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(mutex);
  *handle = next_handle++;
  handles[*handle] = bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(mutex);
  auto found = handles.find(handle);
  if (found == handles.end()) return CUDA_ERROR_INVALID_VALUE;
  emplace::standin::give_back_memory(found->second);
  handles.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t, CUmemGenericAllocationHandle, unsigned long long) {
  return emplace::standin::map_spoiled(pointer(at), bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemUnmap(CUdeviceptr at, size_t bytes) {
  void* gone = mmap(pointer(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return gone != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  static const std::map<std::string_view, void*> kFunctions = {
      {"cuMemAddressReserve", reinterpret_cast<void*>(&cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&cuMemAddressFree)},
      {"cuMemCreate", reinterpret_cast<void*>(&cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(&cuMemRelease)},
      {"cuMemMap", reinterpret_cast<void*>(&cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(&cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&cuMemSetAccess)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&cuMemGetAllocationGranularity)},
  };
  auto found = kFunctions.find(symbol);
  *function = found == kFunctions.end() ? nullptr : found->second;
  *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
