/// Nodes that hold something over the steps and are no variables: tables, queues, iterators.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph_file.h"

namespace emplace {

/// By their names, those that `nodes` of the file's graph need. Nodes that run first fill what they need.
std::set<std::string, std::less<>> holders_behind(const GraphFile& file, std::vector<NodeId> nodes);

}  // namespace emplace
