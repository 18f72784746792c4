#include "core/place/overrides.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/place/gradient_nodes.h"
#include "core/place/node_filter.h"

namespace emplace {
namespace {

// The text that a node would carry.
Result<std::string> device_text(std::string_view text) {
  if (auto typed = device_as_typed(text)) return *typed;
  return invalid_argument(cat(
      "'", printable(text), "' is not a device name; wanted: /job:NAME/replica:N/task:N/device:TYPE:N or parts of it"));
}

struct Rule {
  std::string left, device;
};

// At the last '=': devices have none.
Result<Rule> split_rule(std::string_view flag, const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == text.npos || at == 0)
    return invalid_argument(
        cat(flag, " '", printable(text), "': wanted ", flag == "--place" ? "REGEX" : "DEVICE", "=DEVICE"));
  Result<std::string> device = device_text(std::string_view(text).substr(at + 1));
  if (!device.ok()) return device.status().with_context(cat(flag, " '", printable(text), '\''));
  return Rule{text.substr(0, at), device.take()};
}

using Requests = std::map<NodeId, std::string>;

/// A --map-device rule, and whether a request names its left side.
struct Mapping {
  std::string rule, left;
  DeviceName from, to;
  bool asked = false, applied = false;
};

Result<std::vector<Mapping>> read_mappings(const std::vector<std::string>& rules) {
  std::vector<Mapping> mappings;
  for (const std::string& text : rules) {
    ASSIGN_OR_RETURN(Rule rule, split_rule("--map-device", text));
    Result<std::string> from = device_text(rule.left);
    if (!from.ok()) return from.status().with_context(cat("--map-device '", text, '\''));
    mappings.push_back({text, std::move(rule.left), *DeviceName::parse(*from), *DeviceName::parse(rule.device)});
  }
  return mappings;
}

/// What the file's nodes ask for, each once, in their order.
std::string requested_devices(const Graph& graph) {
  constexpr size_t kListed = 8;
  std::vector<std::string_view> devices;
  for (NodeId node = 0; node < graph.num_nodes() && devices.size() <= kListed; ++node) {
    const std::string_view device = graph.requested_device(node);
    if (!device.empty() && std::find(devices.begin(), devices.end(), device) == devices.end())
      devices.push_back(device);
  }
  if (devices.empty()) return "none asks for a device";
  std::string out = "they ask for ";
  for (size_t i = 0; i < std::min(kListed, devices.size()); ++i) append(out, i ? ", " : "", devices[i]);
  return devices.size() > kListed ? out + ", ..." : out;
}

void warn_of_unused(const Graph& graph, const std::vector<Mapping>& mappings, std::vector<std::string>& warnings) {
  for (const Mapping& m : mappings) {
    if (m.applied) continue;
    warnings.push_back(cat("--map-device '", m.rule, "' changes nothing: ",
                           m.asked ? cat("a --map-device before it takes every request for ", m.left)
                                   : cat("no node asks for ", m.left, "; ", requested_devices(graph))));
  }
}

// The fields of the new device replace those of the old one; what else a request names stays. The first rule that fits
// counts.
void map_devices(const Graph& graph, std::vector<Mapping>& mappings, Requests& requests) {
  std::map<std::string_view, std::optional<std::string>> mapped;  // by request as written
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const std::string_view written = graph.requested_device(node);
    if (written.empty()) continue;
    auto [it, is_new] = mapped.try_emplace(written);
    const std::optional<DeviceName> name = is_new ? DeviceName::parse(written) : std::nullopt;
    if (name) {
      for (Mapping& m : mappings) {
        if (!m.from.is_specification_of(*name)) continue;
        m.asked = true;
        if (it->second) continue;
        m.applied = true;
        DeviceName changed = *name;
        changed.ensure_specification(m.to);
        it->second = changed.to_string();
      }
    }
    if (it->second) requests[node] = *it->second;
  }
}

struct NameRule {
  Rule rule;
  std::unique_ptr<Expression> pattern;
};

Result<NameRule> read_name_rule(const std::string& text) {
  NameRule read;
  ASSIGN_OR_RETURN(read.rule, split_rule("--place", text));
  Result<std::unique_ptr<Expression>> pattern = name_pattern(read.rule.left);
  if (!pattern.ok()) return pattern.status().with_context(cat("--place '", printable(text), '\''));
  read.pattern = pattern.take();
  return read;
}

Status place_by_name(const Graph& graph, const RequestRules& rules, Requests& requests) {
  for (const std::string& text : rules.place) {
    ASSIGN_OR_RETURN(const NameRule read, read_name_rule(text));
    int64_t matches = 0;
    std::string name;
    const auto matches_name = [&](NodeId node) {
      name = graph.name(node);
      return read.pattern->matches(name);
    };
    for (NodeId node = 0; node < graph.num_nodes(); ++node) {
      const NodeId of = rules.place_gradients ? differentiated_node(graph, node) : kNoNode;
      if (!matches_name(node) && (of == kNoNode || !matches_name(of))) continue;
      requests[node] = read.rule.device;
      ++matches;
    }
    if (matches == 0) {
      return invalid_argument(cat("--place '", printable(text), "': no node's name is '", printable(read.rule.left),
                                  "' (the expression must match a whole name: 'tower_1/.*')"));
    }
  }
  return ok_status();
}

/// Nodes that a rule moved, and whose gradients it did not.
void warn_of_gradients(const Graph& graph, const RequestRules& rules, const Requests& placed,
                       std::vector<std::string>& warnings) {
  if (rules.place.empty() || rules.place_gradients) return;
  int64_t left = 0;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const NodeId of = placed.contains(node) ? kNoNode : differentiated_node(graph, node);
    left += of != kNoNode && placed.contains(of) ? 1 : 0;
  }
  if (left == 0) return;
  warnings.push_back(cat("--place does not take along ", counted(left, "node"),
                         " of the gradients of what it matches; --place-gradients does"));
}

}  // namespace

Status check_request_rules(const RequestRules& rules) {
  RETURN_IF_ERROR(read_mappings(rules.map_device).take_status());
  for (const std::string& text : rules.place) RETURN_IF_ERROR(read_name_rule(text).take_status());
  return ok_status();
}

Status resolve_requests(const Graph& graph, const RequestRules& rules, PlaceOptions& options,
                        std::vector<std::string>& warnings) {
  Requests requests;
  options.clear_devices = rules.clear_devices;
  ASSIGN_OR_RETURN(std::vector<Mapping> mappings, read_mappings(rules.map_device));
  if (!rules.clear_devices) {
    map_devices(graph, mappings, requests);
    warn_of_unused(graph, mappings, warnings);
  } else if (!mappings.empty()) {
    warnings.push_back("--map-device changes nothing: --clear-devices drops every request");
  }
  Requests placed;
  RETURN_IF_ERROR(place_by_name(graph, rules, placed));
  warn_of_gradients(graph, rules, placed, warnings);
  if (rules.place.empty() && rules.place_gradients)
    warnings.push_back("--place-gradients changes nothing: it is of --place, which is not given");
  for (auto& [node, device] : placed) requests[node] = std::move(device);
  options.overrides.assign(requests.begin(), requests.end());
  return ok_status();
}

std::string placement_hash(const Graph& graph, const DeviceSet& devices, const Placement& placement) {
  constexpr size_t kShown = 16;
  std::vector<NodeId> by_name(placement.order);
  std::sort(by_name.begin(), by_name.end(), [&](NodeId a, NodeId b) { return graph.name(a) < graph.name(b); });
  Sha256 hash;
  for (NodeId node : by_name) {
    hash.update(graph.name(node));
    hash.update("\n");
    hash.update(devices.at(placement.device(node)).name);
    hash.update("\n");
  }
  return hash.finish().substr(0, kShown);
}

}  // namespace emplace
