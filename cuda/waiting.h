/// Waiting for what streams do. Where there are communicators, a card that is lost would let the others wait for good:
/// then it is asked for, and the wait ends with its failure.
#pragma once

#include <cuda_runtime.h>

#include "core/base/status.h"

namespace emplace::cuda {

/// Until all work of the stream is done.
Status wait_for(cudaStream_t stream);
/// Until the event has been reached.
Status wait_for(cudaEvent_t event);

}  // namespace emplace::cuda
