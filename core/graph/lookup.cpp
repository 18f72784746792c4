#include "core/graph/lookup.h"

#include <charconv>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "core/base/units.h"

namespace emplace {
namespace {

std::string suggest_node(const Graph& g, std::string_view name) {
  if (g.find(name.substr(0, name.find(','))) != kNoNode) return "one name each, no list";
  if (name.starts_with("gradients(")) return "write 'gradients(LOSS,X)'";
  Suggestion suggestion(name);
  for (NodeId id = 0; id < g.num_nodes(); ++id) suggestion.offer(g.name(id));
  return suggestion.text();
}

/// "placeholders: x, y and 3 more"; empty without any.
std::string placeholder_list(const Graph& g) {
  constexpr size_t kNamed = 8, kMostBytes = 300;
  std::string text;
  size_t more = 0, named = 0;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).placeholder && !g.traits(id).placeholder_with_default) continue;
    const std::string name = printable(g.name(id));
    if (named == kNamed || text.size() + name.size() > kMostBytes)
      ++more;
    else
      append(text, named++ == 0 ? "" : ", ", name);
  }
  if (named + more == 0) return {};
  if (more == 0) return cat("placeholders: ", text);
  return named == 0 ? cat("the graph has ", counted(more, "placeholder"))
                    : cat("placeholders: ", text, " and ", more, " more");
}

}  // namespace

std::string NameError::text() const { return cat(message, hint.empty() ? "" : "; ", hint); }

Endpoint find_tensor(const Graph& g, std::string_view name, NameError& error) {
  auto colon = name.rfind(':');
  std::string_view node_name = name.substr(0, colon);
  NodeId node = g.find(node_name);
  if (node == kNoNode) {
    error = {cat("there is no node '", printable(node_name), "'"), suggest_node(g, node_name)};
    return {};
  }
  uint32_t slot = 0;
  if (colon != std::string_view::npos) {
    const char* end = name.data() + name.size();
    auto parsed = std::from_chars(name.data() + colon + 1, end, slot);
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
      error = {cat("'", printable(name), "' is not a tensor name"), "write 'node' or 'node:output'"};
      return {};
    }
  }
  if (slot >= g.num_outputs(node)) {
    error = {cat("node '", node_name, "' (", g.op(node), ") has ", counted(g.num_outputs(node), "output"), ", '", name,
                 "' names output ", slot),
             g.num_outputs(node) == 0 ? "name it as a target to run it" : ""};
    return {};
  }
  return {node, slot};
}

Endpoint find_fed_tensor(const Graph& g, std::string_view name, NameError& error) {
  Endpoint tensor = find_tensor(g, name, error);
  if (tensor.node == kNoNode) {
    const bool unknown = g.find(name.substr(0, name.rfind(':'))) == kNoNode;
    if (const std::string list = unknown ? placeholder_list(g) : ""; !list.empty())
      append(error.hint, error.hint.empty() ? "" : " ", list);
    return tensor;
  }
  const DType type = g.output_type(tensor);
  if (!is_ref(type) && type != DType::kResource) return tensor;
  std::string read = cat(g.name(tensor.node), is_ref(type) ? "/read" : "/Read/ReadVariableOp");
  error = {cat("'", name, "' stands for a variable's memory, which cannot be fed"),
           g.find(read) == kNoNode ? "feed what reads it" : cat("feed what reads it: '", read, "'")};
  return {};
}

NodeId find_node(const Graph& g, std::string_view name, NameError& error) {
  NodeId node = g.find(name);
  if (node != kNoNode) return node;
  std::string_view owner = name.substr(0, name.rfind(':'));
  error = {cat("there is no node '", printable(name), "'"), owner != name && g.find(owner) != kNoNode
                                                                ? cat("write the node alone: '", owner, "'")
                                                                : suggest_node(g, name)};
  return node;
}

}  // namespace emplace
