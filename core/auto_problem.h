/// A placed graph and tables of costs as the numbers that a search for a placement works on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/place/auto/problem.h"
#include "core/place/placement.h"
#include "core/report/bench/cost_estimate.h"

namespace emplace {

struct AutoProblem {
  autoplace::Problem problem;
  // Back from its numbers.
  std::vector<NodeId> nodes;                       // by its node
  std::vector<Endpoint> tensors;                   // by its tensor; of a control edge slot 0 of the source
  std::vector<uint32_t> groups;                    // by its group: Decision::group
  std::vector<double> spreads;                     // by its node
  std::vector<std::optional<CostEstimate>> costs;  // NodeId * devices + device
  std::vector<std::string> doubts;                 // what nobody knows and is counted as nothing
  bool described = false;                          // some cost is that of a described device
};

struct AutoMachine {
  int cpu_lanes = 1;   // 0: without limit
  bool given = false;  // by a flag: beats the table
  int processors = 1;
};

/// `placement` is TensorFlow's. `needed`, by node: what a step runs, of which alone times and copies count; empty: all.
/// Unavailable: no table and no description says what the graph costs. InvalidArgument:
/// more than 64 devices.
Result<AutoProblem> auto_problem(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                                 const CostTable& table, const AutoMachine& machine, autoplace::Goal goal,
                                 const std::vector<char>& needed = {});

}  // namespace emplace
