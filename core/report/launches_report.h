/// What `emplace explain --launches` prints: which kernel of a step does the work of a node, together with which
/// others, how, and why it ends there.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/run/launch_facts.h"

namespace emplace {

/// Text or the JSON document. `nodes`: empty: every launch. NotFound for a node that the graph lacks.
Result<std::string> explain_launches(const Graph& graph, const DeviceSet& devices, const StepFacts& facts,
                                     const std::vector<std::string>& nodes, bool json);

}  // namespace emplace
