/// What was found at the nodes of two runs: for the report of `emplace compare`.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/difference.h"

namespace emplace {

enum class NodeVerdict : uint8_t { kNotCompared, kSameBytes, kWithin, kDifferent };

/// An output that is not the same on both sides.
struct OutputDifference {
  Endpoint tensor;        // of A's graph; a variable's value: slot 0 of the variable
  bool is_state = false;  // the variable's value after the last step
  int64_t order = 0;      // so many nodes were compared before
  int64_t time = 0;       // which run of the node, in loops and over steps, from 0
  double input_ulp = 0;   // the largest distance that was seen so far in what made its inputs
  TensorDifference difference = {};
};

struct NodeDifferences {
  std::vector<NodeVerdict> verdicts;        // by A's node: of all its outputs and runs the worst
  std::vector<double> ulp;                  // by A's node: the largest distance
  std::vector<OutputDifference> different;  // out of tolerance, in the order of B's run
  std::vector<OutputDifference> within;     // unequal and within tolerance: of a node the first
  int64_t compared = 0;                     // nodes

  explicit NodeDifferences(uint32_t nodes) : verdicts(nodes, NodeVerdict::kNotCompared), ulp(nodes, 0) {}
  int64_t count(NodeVerdict verdict) const;
  /// Takes what was found at an output.
  void add(const Graph& graph, OutputDifference found);
};

}  // namespace emplace
