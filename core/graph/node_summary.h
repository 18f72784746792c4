/// A node in one line, in the words of TensorFlow's messages (SummarizeNodeDef).
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace emplace {

/// `{{node y}} = MatMul[T=DT_FLOAT, transpose_a=false, _device="/cpu:0"](a, b:1, ^c)`.
/// REQUIRES: the node has a type.
std::string summarize_node(const Graph& graph, NodeId id);
/// With another request than the file's.
std::string summarize_node(const Graph& graph, NodeId id, std::string_view device);

}  // namespace emplace
