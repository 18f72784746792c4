/// CUDA's error codes as statuses that name the call.
#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "core/base/status.h"

namespace emplace::cuda {

/// "cudaMalloc: error 2 (cudaErrorMemoryAllocation): out of memory". ResourceExhausted where memory is what is missing,
/// Unavailable, with what to do, where the card or its driver cannot be used, else Internal.
Status status_of(cudaError_t error, const char* call);
/// The same of an error that the driver has described; its numbers are the runtime's.
Status status_of_code(int number, std::string_view name, std::string_view text, std::string_view call);

}  // namespace emplace::cuda

/// Returns a failed call's status: CUDA_TRY(cudaSetDevice(0)).
#define CUDA_TRY(call)                                                  \
  do {                                                                  \
    if (cudaError_t cuda_error_ = (call); cuda_error_ != cudaSuccess) { \
      return ::emplace::cuda::status_of(cuda_error_, #call);            \
    }                                                                   \
  } while (false)
