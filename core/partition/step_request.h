/// StepRequest: what one step computes of a graph.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace emplace {

struct StepRequest {
  std::vector<Endpoint> fetches;
  std::vector<NodeId> targets;
  /// Tensors whose values come from outside.
  std::vector<Endpoint> feeds;
  /// A tensor that must be finite before the step writes a variable that it does not depend on; node kNoNode: none.
  Endpoint guard{};
};

}  // namespace emplace
