/// Names that people write, looked up in a graph: what is not there comes with a hint.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace emplace {

/// A problem in two parts, for messages with and without a place in the file.
struct NameError {
  std::string message, hint;
  /// Both in one line.
  std::string text() const;
};

/// "n" is "n:0". kNoNode and `error` if there is no such tensor. REQUIRES: a validated graph.
Endpoint find_tensor(const Graph& g, std::string_view name, NameError& error);

/// The same, of a tensor that a value can be fed for: a reference or a handle stands for a variable's memory. The hint
/// names the first placeholders.
Endpoint find_fed_tensor(const Graph& g, std::string_view name, NameError& error);

/// kNoNode and `error` if there is no such node.
NodeId find_node(const Graph& g, std::string_view name, NameError& error);

}  // namespace emplace
