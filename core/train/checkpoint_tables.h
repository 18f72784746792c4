/// Tables in checkpoints: the keys and the values of one are two tensors, under the names that TensorFlow's savers give
/// them: that of its node, and "-keys" or "-values".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/run/session.h"

namespace emplace {

using NamedValues = std::vector<std::pair<std::string, Tensor>>;

struct TableNames {
  explicit TableNames(std::string_view node)
      : keys(std::string(node) + "-keys"), values(std::string(node) + "-values") {}
  std::string keys, values;
};

/// The nodes of tables that the session keeps.
std::vector<NodeId> table_nodes(const Graph& graph);

/// InvalidArgument: a variable has the name of what a checkpoint holds of a table.
Status check_table_names(const Graph& graph);

/// Adds what those tables hold that steps change. REQUIRES: check_table_names(), or only this process sees them.
Status read_tables(const Graph& graph, Session& session, NamedValues& out);

/// Fills the tables that a step needs (`needed`, by node) with what `saved` has; the others stay as they are. Returns a
/// warning of those among them that steps change; empty: there are none.
Result<std::string> apply_tables(const NamedValues& saved, const Graph& graph, Session& session,
                                 const std::vector<char>& needed);

}  // namespace emplace
