/// What lower() is asked for, and what it makes.
#pragma once

#include <cstdint>
#include <memory>
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
  /// A call whose side effects might be lost if it were inlined is one that stays, as for TensorFlow's function
  /// optimizer; where nothing stays, who reads its results waits for its side effects.
  bool keep_side_effects = false;
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

}  // namespace emplace
