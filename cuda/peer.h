/// How memory of one card gets to another: straight across, once a copy has been seen to arrive, else through the host.
#pragma once

#include <cuda_runtime.h>

#include "core/base/status.h"

namespace emplace::cuda {

/// May copies from `from` to `to` go straight across? Answered once per pair: a pattern is sent, read back and
/// compared. `stream` belongs to `to`, which is the current device, and stays so.
Result<bool> peer_copies_arrive(int from, int to, cudaStream_t stream);

}  // namespace emplace::cuda
