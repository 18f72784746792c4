/// WireAttrs: attr values of nodes in protobuf's binary form. Nodes repeat each other's attrs byte for byte, so what
/// was met before is not read again.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/wire_context.h"
#include "core/graph/graph.h"

namespace emplace {

class WireAttrs {
 public:
  WireAttrs(WireContext& w, Graph& g) : w_(w), graph_(g) {}

  /// The number of a set with the attrs of a node: its map entries, and their bytes if they stand one behind the other.
  /// `op`: text id in the graph.
  uint32_t read(uint32_t op, const std::vector<std::string_view>& entries, std::string_view region);

 private:
  struct OpSets {  // what one op's nodes had so far
    const OpSignature* signature = nullptr;
    NameIndex index;
    std::vector<std::pair<std::string_view, uint32_t>> sets;  // bytes, number
    uint32_t hits = 0, last = 0;
    bool worthwhile() const { return sets.size() < 1000 || hits > sets.size() / 4; }
  };

  OpSets& sets_of(uint32_t op);
  uint32_t read_set(const OpSignature* signature, const std::vector<std::string_view>& entries);
  const AttrValue* read_value(std::string_view value, AttrType declared);

  WireContext& w_;
  Graph& graph_;
  std::vector<std::unique_ptr<OpSets>> sets_;  // by text id
  NameIndex values_index_;
  std::vector<std::pair<std::string_view, const AttrValue*>> values_;
};

/// An AttrValue message. An empty one is the zero of `declared`. Nothing, and a problem told, if it is wrong.
std::optional<AttrValue> read_wire_attr(WireContext& w, std::string_view message, AttrType declared, int depth = 0);

}  // namespace emplace
