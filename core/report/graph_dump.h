/// --dump validate: nodes with their types and shapes, as text.
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace emplace {

/// One line an output, in node order: `name:slot dtype shape`, for example `m:0 float32 [?,4]`; a node without outputs
/// is `name`. REQUIRES: the graph was validated and has no problem.
std::string dump_typed_graph(const Graph& graph);

}  // namespace emplace
