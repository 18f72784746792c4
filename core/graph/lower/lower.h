/// lower(): functional control flow and calls of functions become ordinary nodes, as in TensorFlow before and after it
/// places a graph: the same nodes, names, ids and requested devices (lower_functional_ops.cc, lower_if_op.cc,
/// lower_case_op.cc, lower_while_op.cc, inline_function_utils.cc).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/lower/lowered.h"

namespace emplace {

/// An op that lower() replaces, or may replace: If, While, PartitionedCall, a function of the file.
bool is_functional_op(const GraphFile& file, std::string_view op);
/// Does the file's graph hold nodes of such an op?
bool has_functional_nodes(const GraphFile& file);

/// `file` must have been validated. What is wrong goes to `problems`: a function that calls
/// itself, or is not there, a graph that grows too large; and what does not fit once it is inlined.
Lowered lower(std::shared_ptr<const GraphFile> file, const LowerOptions& options, Problems& problems);

/// The part of a placed graph that one step needs, in the order in which TensorFlow's Session builds it again; nodes
/// ask for the devices that they were placed on.
struct CutOptions {
  std::vector<NodeId> roots;                   // fetched, run; empty: the whole graph
  std::vector<Endpoint> feeds;                 // nothing behind them is needed
  std::span<const NodeId> order;               // TensorFlow's order of ids; empty: the graph's own
  std::vector<std::string_view> device_names;  // by node
};
std::shared_ptr<GraphFile> cut_to_step(std::shared_ptr<const GraphFile> file, const CutOptions& options);

}  // namespace emplace
