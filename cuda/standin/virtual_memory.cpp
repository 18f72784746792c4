// Part of cuda/standin/cuda.h: addresses without access, mapped page by page and accessible to what runs on streams of
// cards that were given access: what is touched after its page is gone, by another card, or by the host's code, ends
// the process. That costs time for all that is mapped at each operation: EMPLACE_STANDIN_OPEN leaves it accessible, for
// measuring what the program itself costs. EMPLACE_STANDIN_ADDRESSES: the most bytes of addresses that a reservation
// may have.
#include <sys/mman.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

#include "cuda/standin/cuda.h"
#include "cuda/standin/device_access.h"
#include "cuda/standin/machine.h"
#include "cuda/standin/memory.h"
#include "cuda/standin/standin.h"
#include "cuda/standin/streams.h"

namespace {

constexpr size_t kPage = size_t{2} << 20;

std::mutex mutex;
struct Allocation {
  int device;
  size_t bytes;
};
std::map<CUmemGenericAllocationHandle, Allocation> handles;  // guarded by mutex
CUmemGenericAllocationHandle next_handle = 1;                // guarded by mutex
using Ranges = std::map<CUdeviceptr, CUdeviceptr>;           // begin -> end; no two touch
std::map<int, Ranges> open_to_kernels;                       // guarded by mutex: by the card that they run on

void* pointer(CUdeviceptr p) { return reinterpret_cast<void*>(p); }

/// REQUIRES: the mutex is held.
void note_open(Ranges& ranges, CUdeviceptr begin, CUdeviceptr end) {
  auto after = ranges.upper_bound(begin);
  if (after != ranges.begin() && std::prev(after)->second >= end) return;  // it is open
  if (after != ranges.end() && after->first == end) {
    end = after->second;
    after = ranges.erase(after);
  }
  if (after != ranges.begin() && std::prev(after)->second == begin)
    std::prev(after)->second = end;
  else
    ranges[begin] = end;
}
void note_closed(Ranges& ranges, CUdeviceptr begin, CUdeviceptr end) {
  auto piece = ranges.upper_bound(begin);
  if (piece == ranges.begin()) return;
  --piece;
  if (piece->second <= begin) return;
  const CUdeviceptr rest = piece->second;
  if (piece->first == begin)
    ranges.erase(piece);
  else
    piece->second = begin;
  if (rest > end) ranges[end] = rest;
}

const int kBetween =
    std::getenv("EMPLACE_STANDIN_OPEN") ? PROT_READ | PROT_WRITE : PROT_NONE;  // access of the host's code

void allow(int device, int access) {
  if (kBetween != PROT_NONE) return;
  for (const auto& [card, ranges] : open_to_kernels) {
    if (device != card && device != emplace::standin::DeviceAccess::kEveryCard) continue;
    for (const auto& [begin, end] : ranges) mprotect(pointer(begin), end - begin, access);
  }
}

}  // namespace

// While something runs, no page comes or goes.
emplace::standin::DeviceAccess::DeviceAccess(int device) : device_(device) {
  mutex.lock();
  allow(device_, PROT_READ | PROT_WRITE);
}
emplace::standin::DeviceAccess::~DeviceAccess() {
  allow(device_, PROT_NONE);
  mutex.unlock();
}

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kPage;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* range, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long) {
  if (bytes == 0 || bytes % kPage != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const char* room = std::getenv("EMPLACE_STANDIN_ADDRESSES"); room && bytes > std::strtoull(room, nullptr, 10))
    return CUDA_ERROR_OUT_OF_MEMORY;
  void* base = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  auto begin = reinterpret_cast<CUdeviceptr>(base), aligned = (begin + alignment - 1) / alignment * alignment;
  if (aligned > begin) munmap(base, aligned - begin);
  if (size_t rest = begin + alignment - aligned; rest > 0) munmap(pointer(aligned + bytes), rest);
  *range = aligned;
  emplace::standin::note_device_memory(pointer(aligned), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr range, size_t bytes) {
  emplace::standin::forget_device_memory(pointer(range));
  return munmap(pointer(range), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* wanted,
                     unsigned long long) {
  if (bytes == 0 || bytes % kPage != 0 || emplace::standin::breaks_capture()) return CUDA_ERROR_INVALID_VALUE;
  if (cudaError_t failure = emplace::standin::ordered_failure("cuMemCreate"); failure != cudaSuccess)
    return static_cast<CUresult>(failure);
  if (!emplace::standin::take_memory(wanted->location.id, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(mutex);
  *handle = next_handle++;
  handles[*handle] = {wanted->location.id, bytes};
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(mutex);
  auto found = handles.find(handle);
  if (found == handles.end()) return CUDA_ERROR_INVALID_VALUE;
  emplace::standin::give_back_memory(found->second.device, found->second.bytes);
  handles.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  if (emplace::standin::breaks_capture()) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(mutex);
  auto found = handles.find(handle);
  if (offset != 0 || found == handles.end() || found->second.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  if (!emplace::standin::map_spoiled(pointer(at), bytes)) return CUDA_ERROR_INVALID_VALUE;
  return mprotect(pointer(at), bytes, kBetween) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemUnmap(CUdeviceptr at, size_t bytes) {
  if (emplace::standin::breaks_capture()) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(mutex);
  for (auto& [device, ranges] : open_to_kernels) note_closed(ranges, at, at + bytes);
  void* gone = mmap(pointer(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return gone != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Until then nothing reaches what is mapped.
CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < count; ++i) {
    if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE || access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) note_open(open_to_kernels[access[i].location.id], at, at + bytes);
  return CUDA_SUCCESS;
}

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
      {"cuGetErrorName", reinterpret_cast<void*>(&cuGetErrorName)},
      {"cuGetErrorString", reinterpret_cast<void*>(&cuGetErrorString)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&cuMemGetAllocationGranularity)},
  };
  auto found = kFunctions.find(symbol);
  *function = found == kFunctions.end() ? nullptr : found->second;
  *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
