/// CUDA's error codes as statuses that name the call.
#pragma once

#include <cuda_runtime.h>

#include "core/base/status.h"

namespace emplace::cuda {

/// "cudaMalloc: error 2 (cudaErrorMemoryAllocation): out of memory". ResourceExhausted where memory is what is missing,
/// Unavailable where there is no device or driver, else Internal.
Status status_of(cudaError_t error, const char* call);

}  // namespace emplace::cuda

/// Returns a failed call's status: CUDA_TRY(cudaSetDevice(0)).
#define CUDA_TRY(call)                                                  \
  do {                                                                  \
    if (cudaError_t cuda_error_ = (call); cuda_error_ != cudaSuccess) { \
      return ::emplace::cuda::status_of(cuda_error_, #call);            \
    }                                                                   \
  } while (false)
