/// partition(): cuts the part of a placed graph that a step needs: copies between memories, an order in which it runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph/graph_file.h"
#include "core/partition/program.h"
#include "core/partition/step_request.h"
#include "core/place/placement.h"

namespace emplace {

struct PartitionOptions {
  bool to_run = true;                    // false: only to be planned, so that ops without a kernel are fine
  size_t num_constant_feeds = SIZE_MAX;  // the feeds behind them may have other values in every step
  /// On several GPUs: what waits for none of their results comes first (core/partition/host_waits.h). It may take more
  /// memory.
  bool early_launches = true;
};

/// Unimplemented: ops or kernels that emplace does not have, all of them, of a request that is to run.
Result<Program> partition(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                          const StepRequest& request, const PartitionOptions& options = {});

}  // namespace emplace
