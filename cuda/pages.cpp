#include "cuda/pages.h"

#include <cuda_runtime.h>

#include "core/base/cat.h"
#include "cuda/error.h"

namespace emplace::cuda {
namespace {

constexpr unsigned kDriverInterface = 12000;  // of CUDA 12.0: old enough for every driver that runs CUDA 13
constexpr int64_t kManyBytes = int64_t{8} << 30;
constexpr int64_t kPagesInLarge = 8;

template <class F>
Status find_function(const char* name, F& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  CUDA_TRY(cudaGetDriverEntryPointByVersion(name, &found, kDriverInterface, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess || !found)
    return unavailable(cat("the NVIDIA driver has no function ", name));
  function = reinterpret_cast<F>(found);
  return ok_status();
}

CUdeviceptr address(const std::byte* p) { return reinterpret_cast<CUdeviceptr>(p); }

}  // namespace

Result<MemoryDriver> MemoryDriver::find() {
  MemoryDriver d;
  RETURN_IF_ERROR(find_function("cuMemAddressReserve", d.reserve));
  RETURN_IF_ERROR(find_function("cuMemAddressFree", d.release));
  RETURN_IF_ERROR(find_function("cuMemCreate", d.create));
  RETURN_IF_ERROR(find_function("cuMemRelease", d.destroy));
  RETURN_IF_ERROR(find_function("cuMemMap", d.map));
  RETURN_IF_ERROR(find_function("cuMemUnmap", d.unmap));
  RETURN_IF_ERROR(find_function("cuMemSetAccess", d.set_access));
  RETURN_IF_ERROR(find_function("cuMemGetAllocationGranularity", d.granularity));
  RETURN_IF_ERROR(find_function("cuGetErrorName", d.error_name));
  RETURN_IF_ERROR(find_function("cuGetErrorString", d.error_text));
  return d;
}

Result<Pages> Pages::make(int device, int64_t limit) {
  ASSIGN_OR_RETURN(MemoryDriver driver, MemoryDriver::find());
  Pages pages(driver, device, 0);
  size_t least = 0;
  CUmemAllocationProp wanted = pages.properties();
  RETURN_IF_ERROR(pages.failure(driver.granularity(&least, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                                "cuMemGetAllocationGranularity"));
  pages.page_ = static_cast<int64_t>(least) * (limit > kManyBytes ? kPagesInLarge : 1);
  pages.access_.push_back(pages.access_of(device));
  return pages;
}

/// The driver's errors have the numbers of the runtime's.
Status Pages::failure(CUresult result, std::string_view call) const {
  if (result == CUDA_SUCCESS) return ok_status();
  const char *name = nullptr, *text = nullptr;
  if (driver_.error_name(result, &name) != CUDA_SUCCESS || !name) name = "unknown";
  if (driver_.error_text(result, &text) != CUDA_SUCCESS || !text) text = "";
  return status_of_code(static_cast<int>(result), name, text, call);
}

CUmemAccessDesc Pages::access_of(int device) const {
  CUmemAccessDesc access = {};
  access.location = properties().location;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

CUmemAllocationProp Pages::properties() const {
  CUmemAllocationProp p = {};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = device_;
  return p;
}

Result<std::byte*> Pages::reserve(int64_t bytes) {
  CUdeviceptr range = 0;
  RETURN_IF_ERROR(failure(driver_.reserve(&range, static_cast<size_t>(bytes), static_cast<size_t>(page_), 0, 0),
                          "cuMemAddressReserve"));
  return reinterpret_cast<std::byte*>(range);
}

void Pages::release(std::byte* range, int64_t bytes) {
  (void)driver_.release(address(range), static_cast<size_t>(bytes));
}

Status Pages::map_page(CUdeviceptr at) {
  CUmemAllocationProp wanted = properties();
  CUmemGenericAllocationHandle handle;
  auto bytes = static_cast<size_t>(page_);
  RETURN_IF_ERROR(failure(driver_.create(&handle, bytes, &wanted, 0), "cuMemCreate"));
  Status mapped = failure(driver_.map(at, bytes, 0, handle, 0), "cuMemMap");
  if (!mapped.ok()) {
    (void)driver_.destroy(handle);
    return mapped;
  }
  handles_[at] = handle;
  return ok_status();
}

Status Pages::map(std::byte* at, int64_t bytes) {
  std::lock_guard lock(*mutex_);
  Status status;
  int64_t done = 0;
  while (status.ok() && done < bytes) {
    status = map_page(address(at) + static_cast<CUdeviceptr>(done));
    if (status.ok()) done += page_;
  }
  if (status.ok()) {
    status = failure(driver_.set_access(address(at), static_cast<size_t>(bytes), access_.data(), access_.size()),
                     "cuMemSetAccess");
  }
  if (!status.ok() && done > 0) (void)unmap_pages(at, done);
  return status;
}

Status Pages::unmap(std::byte* at, int64_t bytes) {
  std::lock_guard lock(*mutex_);
  return unmap_pages(at, bytes);
}

Status Pages::unmap_pages(std::byte* at, int64_t bytes) {
  for (int64_t done = 0; done < bytes; done += page_) {
    CUdeviceptr page = address(at) + static_cast<CUdeviceptr>(done);
    RETURN_IF_ERROR(failure(driver_.unmap(page, static_cast<size_t>(page_)), "cuMemUnmap"));
    auto handle = handles_.find(page);
    RETURN_IF_ERROR(failure(driver_.destroy(handle->second), "cuMemRelease"));
    handles_.erase(handle);
  }
  return ok_status();
}

// A page table each: only for peers that copy.
Status Pages::let_read(int device) {
  std::lock_guard lock(*mutex_);
  for (const CUmemAccessDesc& known : access_) {
    if (known.location.id == device) return ok_status();
  }
  const CUmemAccessDesc more = access_of(device);
  for (const auto& [page, handle] : handles_)
    RETURN_IF_ERROR(failure(driver_.set_access(page, static_cast<size_t>(page_), &more, 1), "cuMemSetAccess"));
  access_.push_back(more);
  return ok_status();
}

}  // namespace emplace::cuda
