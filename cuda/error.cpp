#include "cuda/error.h"

#include <string_view>

#include "core/base/cat.h"

namespace emplace::cuda {

Status status_of(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return ok_status();
  std::string_view name(call);
  std::string text = cat(name.substr(0, name.find('(')), ": error ", static_cast<int>(error), " (",
                         cudaGetErrorName(error), "): ", cudaGetErrorString(error));
  switch (error) {
    case cudaErrorMemoryAllocation:
      return resource_exhausted(std::move(text));
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return unavailable(std::move(text));
    default:
      return internal_error(std::move(text));
  }
}

}  // namespace emplace::cuda
