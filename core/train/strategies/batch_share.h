/// BatchShare: how the value of a tensor for the whole batch is computed from its values for the parts: sum, mean, ...
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace emplace {

enum class BatchShare {
  kMean,   // the mean over samples, or nothing that depends on them: parts count by their rows
  kSum,    // a sum over samples: parts add up
  kMixed,  // a sum, and in it something that is none
};

/// Of a tensor without a batch dimension (a loss, a metric), by the reductions that it comes from; a value of another
/// kind counts as a mean. `batch`: the placeholders that are cut into parts.
BatchShare batch_share(const Graph& graph, Endpoint value, const std::vector<Endpoint>& batch);

}  // namespace emplace
