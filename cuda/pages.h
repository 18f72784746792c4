/// Pages: device memory by the driver's virtual memory functions: addresses first, memory behind them page by page.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/page_source.h"

namespace emplace::cuda {

/// The driver's functions, found when they are first needed: the plug-in is not linked with libcuda.
struct MemoryDriver {
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) release = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) destroy = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;
  decltype(&cuGetErrorString) error_text = nullptr;
  /// Unavailable names the function that the driver lacks.
  static Result<MemoryDriver> find();
};

/// One device's. REQUIRES: the device is current in every call.
class Pages {
 public:
  /// A page is a handle of the driver's, and handles have a price: large limits get larger pages.
  static Result<Pages> make(int device, int64_t limit);

  int64_t page_bytes() const { return page_; }
  Result<std::byte*> reserve(int64_t bytes);
  void release(std::byte* range, int64_t bytes);
  Status map(std::byte* at, int64_t bytes);
  Status unmap(std::byte* at, int64_t bytes);
  /// From now on `device`, a peer, reaches the pages too: those that are mapped, and those to come. Any thread.
  Status let_read(int device);

 private:
  Pages(MemoryDriver driver, int device, int64_t page) : driver_(driver), device_(device), page_(page) {}
  Status map_page(CUdeviceptr at);
  Status unmap_pages(std::byte* at, int64_t bytes);
  CUmemAccessDesc access_of(int device) const;
  Status failure(CUresult result, std::string_view call) const;
  CUmemAllocationProp properties() const;

  MemoryDriver driver_;
  int device_;
  int64_t page_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  // Guarded by mutex_.
  std::vector<CUmemAccessDesc> access_;  // this device, then those that read from it
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> handles_;
};

}  // namespace emplace::cuda
