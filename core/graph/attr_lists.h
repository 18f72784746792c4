/// Attrs as written, for nodes that are made: the graph owns names, values and lists.
#pragma once

#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

inline const AttrValue* add_value(Graph& graph, AttrValue value) {
  return &graph.attr_values_.emplace_back(std::move(value));
}

inline Attrs::Entry kept_attr(Graph& graph, std::string_view name, AttrValue value) {
  return {graph.text(graph.intern(name)), add_value(graph, std::move(value))};
}

/// The number of the list, for Node::attr_set.
inline uint32_t add_attrs(Graph& graph, std::vector<Attrs::Entry> attrs) {
  if (attrs.empty()) return 0;
  graph.attr_sets_.push_back(std::move(attrs));
  return static_cast<uint32_t>(graph.attr_sets_.size() - 1);
}

}  // namespace emplace
