#include "core/report/trace_times.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/base/cat.h"
#include "core/base/json_document.h"
#include "core/base/schema.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

/// The nodes that an event of a trace is about: one, or those that ran as one.
std::vector<NodeId> nodes_of(const Graph& graph, const Json& event) {
  std::vector<NodeId> nodes;
  const auto args = event.find("args");
  if (args != event.end() && args->is_object() && args->contains("nodes") && args->at("nodes").is_array()) {
    for (const Json& name : args->at("nodes")) {
      const NodeId node = name.is_string() ? graph.find(name.get<std::string>()) : kNoNode;
      if (node != kNoNode) nodes.push_back(node);
    }
  }
  if (nodes.empty()) {
    const NodeId node = graph.find(text_at(event, "name"));
    if (node != kNoNode) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

Result<std::vector<double>> node_times(const Graph& graph, std::string_view trace, std::string_view origin) {
  ASSIGN_OR_RETURN(const Json document, parse_json(trace, origin));
  if (!document.is_object() || !document.contains("traceEvents") || !document.at("traceEvents").is_array())
    return invalid_argument(
        cat(origin, ": no trace: wanted an object with 'traceEvents', as 'emplace run --trace' writes it"));
  RETURN_IF_ERROR(check_schema(Document::kTrace, document.value("schema_version", Json()).dump()).with_context(origin));
  std::vector<double> us(graph.num_nodes(), -1);
  std::set<std::string> steps;
  bool found = false;
  for (const Json& event : document.at("traceEvents")) {
    if (!event.is_object() || text_at(event, "ph") != "X" || text_at(event, "cat") == "copy") continue;
    if (!event.contains("dur") || !event.at("dur").is_number()) continue;
    const Json args = event.value("args", Json::object());
    if (text_at(args, "step") == "init") continue;
    const std::vector<NodeId> nodes = nodes_of(graph, event);
    for (const NodeId node : nodes) {
      us[node] = std::max(us[node], 0.0) + event.at("dur").get<double>() / static_cast<double>(nodes.size());
      found = true;
    }
    if (args.contains("step")) steps.insert(args.at("step").dump());
  }
  if (!found) return invalid_argument(cat(origin, ": a trace of another graph: it has none of the nodes"));
  const double n = static_cast<double>(std::max<size_t>(steps.size(), 1));
  for (double& t : us) {
    if (t >= 0) t /= n;
  }
  return us;
}

}  // namespace emplace
