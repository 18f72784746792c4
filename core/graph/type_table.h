/// TypeTable: the types of a graph's nodes, each made once, found by what decides it: op, attrs as written, and the
/// types that arrive at the inputs.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

class TypeTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Key {
    uint32_t op = 0;  // text id
    uint32_t attr_set = 0;
    std::span<const DType> inputs;
  };

  explicit TypeTable(Graph& graph) : graph_(graph), slots_(64) {}

  /// kNone if no type has that key yet.
  uint32_t find(const Key& key) const {
    const uint64_t hash = hash_of(key);
    for (size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].type == kNone) return kNone;
      if (slots_[i].hash == hash && same(keys_[slots_[i].type], key)) return slots_[i].type;
    }
  }
  const Key& key(uint32_t type) const { return keys_[type]; }
  /// What nodes of that type put out.
  std::span<const DType> outputs(uint32_t type) const { return outputs_[type]; }
  /// Keeps `type`, whose lists are the graph's already. REQUIRES: find(key) == kNone.
  uint32_t add(const Key& key, NodeType type);

  /// The list, kept by the graph, equal lists only once.
  std::span<const DType> keep(std::span<const DType> types);
  std::span<const uint16_t> keep(std::span<const uint16_t> args);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t type = kNone;
  };
  static uint64_t hash_of(const Key& key) {
    uint64_t h = (uint64_t{key.op} << 32 | key.attr_set) * 0x9e3779b97f4a7c15u;
    for (DType t : key.inputs) h = ((h ^ (h >> 29)) + static_cast<uint64_t>(t) + 1) * 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 32);
  }
  static bool same(const Key& a, const Key& b) {
    return a.op == b.op && a.attr_set == b.attr_set && std::ranges::equal(a.inputs, b.inputs);
  }
  void grow();

  Graph& graph_;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::vector<Key> keys_;    // by type
  std::vector<std::span<const DType>> outputs_;
  std::unordered_map<std::string_view, std::span<const DType>> dtype_lists_;  // by their bytes
  std::unordered_map<std::string_view, std::span<const uint16_t>> arg_lists_;
};

}  // namespace emplace
