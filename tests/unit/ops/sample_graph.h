/// SampleGraph: a sample of an op ("x=f32[2,3] uniform(-2,2); axis=[1]") as a graph file, its floating-point inputs as
/// float64 placeholders.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/op/op_def.h"

namespace emplace::testing {

struct SampleGraph {
  std::string text;                                    // the file: placeholders "x0", "x1", ..., and the node "y"
  std::vector<std::pair<std::string, Tensor>> inputs;  // the placeholders' names and values
};

/// Values come from a generator that starts anew for each sample. `low`, `high`: the range of the values in place of
/// the sample's own, unless low == high.
SampleGraph sample_graph(const OpDef& op, const std::string& sample, double low = 0, double high = 0);

}  // namespace emplace::testing
