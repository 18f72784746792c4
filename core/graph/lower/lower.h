/// lower(): functional control flow and calls of functions become ordinary nodes, as in TensorFlow before and after it
/// places a graph: the same nodes, names, ids and requested devices (lower_functional_ops.cc, lower_if_op.cc,
/// lower_case_op.cc, lower_while_op.cc, inline_function_utils.cc).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/graph/lower/origins.h"

namespace emplace {

struct LowerOptions {
  /// Calls are inlined too; else only those that stand for a branch or a loop's body.
  bool inline_calls = false;
  /// Nothing stays: not what is marked to be called, compiled or run as one node either. For a graph that runs.
  bool all = false;
  /// A lowered node's name lives on, so that it can be fetched and waited for. Else only those of `kept`.
  bool keep_all = true;
  std::vector<NodeId> kept;
  /// Nodes that stay as they are: their outputs are fed.
  std::vector<NodeId> left_alone;
  /// A node about to be replaced that reads a resource and waits for nobody waits for what it reads.
  bool wait_for_sources = false;
  /// More nodes end in ResourceExhausted.
  uint64_t max_nodes = uint64_t{16} << 20;
};

/// A graph in which functions were lowered.
struct Lowered {
  /// As the file it was made of, which it keeps alive, but for the graph: inputs before what reads them.
  std::shared_ptr<GraphFile> file;
  std::vector<NodeId> order;  // TensorFlow's order of ids; empty: the graph's own
  Origins origins;
  uint32_t num_made = 0;  // nodes
};

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
