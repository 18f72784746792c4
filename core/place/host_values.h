/// Values of type DT_VARIANT that must stay in host memory: datasets, lists of strings and the like (the rules of
/// host-only data types in colocation_graph.cc).
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/place/container_types.h"

namespace emplace {

class HostValues {
 public:
  explicit HostValues(const Graph& graph);
  /// Must the values that `node` handles stay in host memory? REQUIRES: `node` has an input of type variant.
  bool host_only(NodeId node);

 private:
  struct OpFacts {
    bool known = false;
    bool declares_host = false;
    bool passes_on = false;
    ListMemory list = ListMemory::kUndecided;
  };
  const OpFacts& facts(NodeId node);
  bool any_source_declares_host(NodeId node);
  ListMemory nearest_list(NodeId node);
  ListMemory walk(NodeId node);

  const Graph& graph_;
  std::vector<OpFacts> facts_;     // by type
  std::vector<uint32_t> visited_;  // by node: the last walk that came by
  std::vector<int8_t> known_;      // by node: result of nearest_list(), -1: not known
  uint32_t walk_ = 0;
};

}  // namespace emplace
