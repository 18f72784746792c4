/// SessionTable: a table that a session keeps over its steps, as whoever reads or writes it between them sees it.
#pragma once

#include <optional>
#include <string_view>

#include "core/op/kernel.h"

namespace emplace {

/// As LookupTableExportV2 gives it and LookupTableImportV2 takes it.
struct TableContents {
  Tensor keys, values;
};

class SessionTable {
 public:
  virtual ~SessionTable() = default;
  /// Nothing: it is filled once, by the graph, and no step changes it.
  virtual Result<std::optional<TableContents>> contents() = 0;
  /// InvalidArgument: they are none of such a table.
  virtual Status set_contents(const TableContents& contents) = 0;
};

/// Do these attrs belong to a node that makes such a table, or finds the one of its name?
bool names_table(Attrs attrs);

/// The variable whose value is the handle of the node's table, and owns it. No variable's node can name it by chance.
/// REQUIRES: names_table().
Variable& table_keeper(VariableStore& variables, Attrs attrs, std::string_view node_name);

/// Null: nobody has made it yet. REQUIRES: the keeper's mutex is held.
SessionTable* kept_table(const Variable& keeper);

}  // namespace emplace
