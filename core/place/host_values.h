/// Values of type DT_VARIANT that must stay in host memory: datasets, lists of strings and the like (the rules of
/// host-only data types in colocation_graph.cc, on the types that forward_type_inference.cc found before).
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/place/container_types.h"

namespace emplace {

/// Before its placer, a Session infers the types of a graph forwards. The placer by itself does not: what an op
/// declares reaches as far as the next node only.
enum class TypeInference {
  kNone,
  kIfListsNeedIt,  // in a graph with lists that take the type of what is put in: else the placer's own answers stand
  kAlways
};

class HostValues {
 public:
  HostValues(const Graph& graph, TypeInference inference);
  /// Must the values that `node` handles stay in host memory? REQUIRES: `node` has an input of type variant.
  bool host_only(NodeId node);

 private:
  struct OpFacts {
    bool known = false;
    bool declares_host = false;
    bool passes_on = false;
    bool inferred = false;  // its values are of the type of what it reads
    ListMemory list = ListMemory::kUndecided;
  };
  const OpFacts& facts(NodeId node);
  bool any_source_on_host(NodeId node);
  void infer();
  bool reads_host_type(NodeId node);
  ListMemory nearest_list(NodeId node);
  ListMemory walk(NodeId node);

  const Graph& graph_;
  const TypeInference inference_;
  std::vector<OpFacts> facts_;     // by type
  std::vector<uint32_t> visited_;  // by node: the last walk that came by
  std::vector<int8_t> known_;      // by node: result of nearest_list(), -1: not known
  std::vector<bool> on_host_;      // by node: its type, declared or inferred, says so; made by infer()
  uint32_t walk_ = 0;
};

}  // namespace emplace
