/// Writes graph files: load() reads back what write_graph() wrote as the same graph.
#pragma once

#include <string>

#include "core/graph/graph_file.h"

namespace emplace {

/// GraphDef in protobuf's JSON mapping (TensorFlow reads it), one node a line in the graph's node order, every attr
/// spelled out; then what else the file says. Variables in short form are written as the nodes that they stand for,
/// literals as constants. REQUIRES: the file was validated and has no problem.
std::string write_graph(const GraphFile& file);

}  // namespace emplace
