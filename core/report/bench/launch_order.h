/// LaunchOrder: which launches of a traced run read what which others made: by the graph's edges, through the copies
/// between, and through nodes that have no launch of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/run/launch_trace.h"

namespace emplace {

class LaunchOrder {
 public:
  /// Of the work that has `ran`, by its number; other work may be of another program of the same graph.
  LaunchOrder(const Graph& graph, const std::deque<LaunchedWork>& work, const std::vector<char>& ran);

  /// Numbers of the work that has to be done before `work` can begin.
  const std::vector<uint32_t>& sources(uint32_t work) const { return sources_[work]; }

 private:
  void list(const std::vector<char>& ran);
  std::vector<uint32_t> find_sources(uint32_t work) const;
  bool add_makers(uint32_t reader, NodeId node, std::vector<uint32_t>& sources) const;

  const Graph& graph_;
  const std::deque<LaunchedWork>& work_;
  std::unordered_map<NodeId, uint32_t> computes_;            // by node
  std::unordered_map<NodeId, std::vector<uint32_t>> moves_;  // by the node whose tensor it is
  std::vector<std::vector<uint32_t>> sources_;
};

}  // namespace emplace
