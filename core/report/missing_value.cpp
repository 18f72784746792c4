#include "core/report/missing_value.h"

#include <utility>

#include "core/base/cat.h"

namespace emplace {
namespace {

/// The name that TensorFlow's two messages of such a read give the variable; empty: it is another message.
std::string_view named_variable(std::string_view message) {
  for (const auto& [before, after] : {std::pair<std::string_view, std::string_view>{"uninitialized value ", "\n"},
                                      {"Could not find variable ", ". This could mean"}}) {
    const size_t begin = message.find(before);
    if (begin == message.npos) continue;
    const std::string_view rest = message.substr(begin + before.size());
    return rest.substr(0, rest.find(after));
  }
  return {};
}

NodeId find_variable(const Graph& g, std::string_view name) {
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).variable) continue;
    const std::string& shared = g.attrs(id).text("shared_name");
    if (shared.empty() ? g.name(id) == name : shared == name) return id;
  }
  return kNoNode;
}

/// A node that would give it a value; kNoNode: there is none.
NodeId find_assign(const Graph& g, NodeId variable) {
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (g.traits(id).assigns && g.inputs(id).size() > 1 && g.inputs(id)[0].node == variable) return id;
  }
  return kNoNode;
}

}  // namespace

std::string missing_value_text(const Graph& g, const Source& source, const Status& failure) {
  if (failure.code() != Code::kFailedPrecondition) return {};
  const std::string_view name = named_variable(failure.message());
  const NodeId variable = name.empty() ? kNoNode : find_variable(g, name);
  if (variable == kNoNode || g.node(variable).position == kNoPosition) return {};
  const NodeId assign = find_assign(g, variable);
  const std::string file = source.binary() ? "a .json of this graph (emplace convert)" : "the graph file";
  Problems problem;
  problem.add(g.node(variable).position, cat("variable '", name, "' has no value"),
              assign != kNoNode ? cat("initialize it: name '", g.name(assign), "' in \"init\" of ", file,
                                      ", which runs before the first step; or --restore CHECKPOINT")
                                : cat("initialize it: \"op\": \"Variable\" with an \"initial_value\" in ", file,
                                      " makes its Assign, too; or --restore CHECKPOINT"));
  std::string text = problem.to_string(source);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace emplace
