/// The part of a GraphDef that some of its tensors need.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/formats/meta_graph.h"

namespace emplace {

struct GraphPart {
  std::string bytes;
  /// Inputs that could not keep their names: of a node's second or later output, by the name they had.
  std::map<std::string, std::string> renamed;
};

/// The nodes that `outputs` (tensors or nodes) need, in the order they stand, with all that stands beside nodes.
/// `inputs`, by any key, are fed: their nodes become Placeholders, and what only those need is left out.
/// InvalidArgument: there is no such tensor, or a node is an input and needed for another of its outputs.
Result<GraphPart> part_of_graph(std::string_view graph, const std::vector<std::string>& outputs,
                                const std::map<std::string, TensorInfo>& inputs);

}  // namespace emplace
