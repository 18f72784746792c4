#include "core/train/checkpoint_tables.h"

#include <map>

#include "core/base/cat.h"
#include "core/base/printable.h"

namespace emplace {

std::vector<NodeId> table_nodes(const Graph& g) {
  std::vector<NodeId> found;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (names_table(g.attrs(id))) found.push_back(id);
  }
  return found;
}

Status check_table_names(const Graph& g) {
  for (NodeId id : table_nodes(g)) {
    const TableNames names(g.name(id));
    for (const std::string& name : {names.keys, names.values}) {
      const NodeId other = g.find(name);
      if (other == kNoNode || !g.traits(other).variable) continue;
      return invalid_argument(cat("variable '", printable(name),
                                  "' has the name under which a checkpoint holds a part ", "of table '",
                                  printable(g.name(id)), "': give one of them another name"))
          .blamed(Blame::kFile);
    }
  }
  return ok_status();
}

Status read_tables(const Graph& g, Session& session, NamedValues& out) {
  for (NodeId id : table_nodes(g)) {
    ASSIGN_OR_RETURN(std::optional<TableContents> contents, session.table(id));
    if (!contents) continue;
    TableNames names(g.name(id));
    out.emplace_back(std::move(names.keys), std::move(contents->keys));
    out.emplace_back(std::move(names.values), std::move(contents->values));
  }
  return ok_status();
}

namespace {

std::string warning_of(const std::vector<std::string>& missing) {
  if (missing.empty()) return {};
  std::string names;
  for (const std::string& name : missing) append(names, names.empty() ? "'" : ", '", printable(name), "'");
  return cat("--restore: the checkpoint holds nothing of ", missing.size() == 1 ? "table " : "the tables ", names,
             ", which ", missing.size() == 1 ? "is" : "are", " as if the run began");
}

}  // namespace

Result<std::string> apply_tables(const NamedValues& saved, const Graph& g, Session& session,
                                 const std::vector<char>& needed) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, value] : saved) by_name.emplace(name, &value);
  std::vector<std::string> missing;
  for (NodeId id : table_nodes(g)) {
    if (!needed[id]) continue;
    RETURN_IF_ERROR(session.run_nodes({id}));  // makes it
    const TableNames names(g.name(id));
    const auto keys = by_name.find(names.keys), values = by_name.find(names.values);
    if (keys != by_name.end() && values != by_name.end()) {
      RETURN_IF_ERROR(session.set_table(id, {*keys->second, *values->second}));
    } else {
      ASSIGN_OR_RETURN(const std::optional<TableContents> there, session.table(id));
      if (there) missing.emplace_back(g.name(id));
    }
  }
  return warning_of(missing);
}

}  // namespace emplace
