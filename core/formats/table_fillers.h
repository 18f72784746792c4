/// Which of the nodes that run before the first step fill tables, and may do so again when a SavedModel is loaded.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_file.h"

namespace emplace {

struct TableFillers {
  std::vector<std::string> nodes;
  std::set<std::string, std::less<>> filled;               // the tables
  std::vector<std::pair<std::string, std::string>> files;  // that they read: the tensor which has the name, and that
};

/// Those of `init`, and of what only stands before them, that need one of `tables`. Not those that write variables,
/// whose values a checkpoint has, nor those that are fed.
TableFillers fillers_of(const GraphFile& file, const std::vector<NodeId>& init,
                        const std::set<std::string, std::less<>>& tables);

}  // namespace emplace
