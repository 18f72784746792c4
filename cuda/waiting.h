/// Waiting for streams. With NCCL communicators, a lost card would make the others wait for ever: so the wait polls the
/// communicators, too, and ends with their failure.
#pragma once

#include <cuda_runtime.h>

#include "core/base/status.h"

namespace emplace::cuda {

/// Until all work of the stream is done.
Status wait_for(cudaStream_t stream);
/// Until the event has been reached.
Status wait_for(cudaEvent_t event);

}  // namespace emplace::cuda
