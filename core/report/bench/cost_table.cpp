#include "core/report/bench/cost_table.h"

#include <cmath>

#include "core/base/cat.h"
#include "core/base/json_document.h"
#include "core/base/schema.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

/// A time or a speed: finite and not negative.
Result<double> cost_at(const Json& object, const char* key, std::string_view origin, std::string_view of) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null()) return 0.0;
  const double value = at->is_number() ? at->get<double>() : -1;
  constexpr double kMost = 1e15;
  if (!std::isfinite(value) || value < 0 || value > kMost)
    return invalid_argument(cat(origin, ": ", of, ": ", key, " is ", at->dump(), "; wanted a number from 0 on"));
  return value;
}

Status read_links(const Json& list, std::string_view origin, CostTable& table) {
  for (const Json& link : list) {
    if (!link.is_object() || !link.contains("from") || !link.contains("to") || !link["from"].is_string() ||
        !link["to"].is_string())
      return invalid_argument(
          cat(origin, ": links: wanted {\"from\": \"CPU\", \"to\": \"GPU\", ...}, found ", link.dump()));
    const std::string from = link["from"], to = link["to"], of = cat("link ", from, " -> ", to);
    LinkCost& cost = table.links[{from, to}];
    ASSIGN_OR_RETURN(cost.latency_us, cost_at(link, "latency_us", origin, of));
    ASSIGN_OR_RETURN(cost.bytes_per_us, cost_at(link, "bytes_per_us", origin, of));
  }
  return ok_status();
}

Status read_cost_nodes(const Json& nodes, std::string_view origin, CostTable& table) {
  for (const auto& [name, node] : nodes.items()) {
    const Json us = node.is_object() ? node.value("us", Json::object()) : Json();
    if (!us.is_object()) return invalid_argument(cat(origin, ": nodes: ", name, ": wanted {\"us\": {\"CPU\": 1.5}}"));
    for (const auto& [device, value] : us.items()) {
      ASSIGN_OR_RETURN(table.nodes[name][device], cost_at(us, device.c_str(), origin, cat("node ", name)));
    }
  }
  return ok_status();
}

}  // namespace

std::optional<double> CostTable::copy_us(const DeviceSet& devices, DeviceId from, DeviceId to, int64_t bytes) const {
  for (const auto& a : {short_device_name(devices, from), devices.at(from).type}) {
    for (const auto& b : {short_device_name(devices, to), devices.at(to).type}) {
      const auto link = links.find({a, b});
      if (link == links.end()) continue;
      const LinkCost& cost = link->second;
      return cost.latency_us + (cost.bytes_per_us > 0 ? static_cast<double>(bytes) / cost.bytes_per_us : 0);
    }
  }
  return {};
}

std::optional<double> CostTable::node_us(std::string_view name, const DeviceSet& devices, DeviceId device) const {
  const auto node = nodes.find(name);
  if (node == nodes.end()) return {};
  for (const auto& where : {short_device_name(devices, device), devices.at(device).type}) {
    if (const auto us = node->second.find(where); us != node->second.end()) return us->second;
  }
  return {};
}

Result<CostTable> read_costs(std::string_view text, std::string_view origin) {
  ASSIGN_OR_RETURN(const Json json, parse_json(text, origin));
  const bool is_table =
      json.is_object() && (json.contains("links") || json.contains("nodes") || json.contains("kernels"));
  if (!is_table)
    return invalid_argument(cat(origin, ": no table of costs: 'emplace bench GRAPH --save-costs FILE' writes one"));
  RETURN_IF_ERROR(check_schema(Document::kCosts, json.value("schema_version", Json()).dump()).with_context(origin));
  CostTable table;
  const Json links = json.value("links", Json::array()), nodes = json.value("nodes", Json::object());
  if (!links.is_array() || !nodes.is_object())
    return invalid_argument(cat(origin, ": wanted 'links' as a list, 'nodes' as an object"));
  RETURN_IF_ERROR(read_links(links, origin, table));
  RETURN_IF_ERROR(read_cost_nodes(nodes, origin, table));
  return table;
}

}  // namespace emplace
