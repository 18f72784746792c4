/// Nodes, attrs and kernels in the words of TensorFlow's messages (node_def_util.cc, op_kernel.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

/// "  device='GPU'; T in [DT_FLOAT]\n" per kernel, or "  <no registered kernels>\n".
std::string registered_kernels_text(const std::vector<KernelSignature>& kernels);
/// A KernelDef in one line: op: "MatMul" device_type: "GPU" constraint { ... }.
std::string kernel_def_text(std::string_view op, const KernelSignature& kernel);

/// "{name:'y' id:3 op device:{requested: 'gpu:0', assigned: ''} def:{{{node y}} = Relu[T=DT_FLOAT](x)}}".
std::string node_debug_text(const Graph& graph, NodeId node, std::string_view requested, std::string_view assigned);

/// `message` and the node it is about, as errors reach the user: "\n\t [[{{node n}}]]", or "[[n]]" if the message
/// names a node already.
std::string attach_node(std::string message, std::string_view node_name);

}  // namespace emplace
