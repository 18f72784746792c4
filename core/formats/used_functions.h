/// Leaving out the functions of a graph file, as JSON, that none of its nodes calls.
#pragma once

#include <nlohmann/json.hpp>

namespace emplace {

/// `nodes`: the graph's. `members`: of the file beside them; its `library` keeps the functions that a node names, by
/// its op or in an attr, and what those name, with their gradients. An empty library goes.
void keep_used_functions(const nlohmann::ordered_json& nodes, nlohmann::ordered_json& members);

}  // namespace emplace
