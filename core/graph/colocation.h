/// Colocation as nodes ask for it: the groups in `_class`, TensorFlow's Operation.colocation_groups().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

inline constexpr std::string_view kColocationPrefix = "loc:@";

/// The groups ("loc:@x") that a node names; if none, the one that carries its own name.
std::vector<std::string> colocation_groups(const Graph& graph, NodeId node);

}  // namespace emplace
