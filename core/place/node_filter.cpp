#include "core/place/node_filter.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

/// The system's expressions have no \d.
std::string with_digits(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      ++i;
      if (pattern[i] == 'd') {
        out += "[0-9]";
      } else {
        append(out, '\\', pattern[i]);
      }
    } else {
      out += pattern[i];
    }
  }
  return out;
}

Result<DeviceName> read_device(const std::string& text) {
  const std::optional<std::string> typed = device_as_typed(text);
  const std::optional<DeviceName> wanted = typed ? DeviceName::parse(*typed) : std::nullopt;
  if (wanted) return *wanted;
  return invalid_argument(cat("--device '", printable(text), "' is not a device name; wanted GPU:0, GPU or the like"));
}

Result<std::unique_ptr<Expression>> read_names(const std::string& text) {
  Result<std::unique_ptr<Expression>> made = name_pattern(text);
  return made.ok() ? std::move(made) : made.status().with_context("--nodes");
}

Result<std::vector<char>> devices_named(const DeviceSet& devices, const std::string& text) {
  ASSIGN_OR_RETURN(const DeviceName wanted, read_device(text));
  std::vector<char> named(devices.size(), 0);
  std::string all;
  for (DeviceId d = 0; d < devices.size(); ++d) {
    named[d] = wanted.matches(devices.at(d).parsed);
    append(all, d > 0 ? ", " : "", short_device_name(devices, d));
  }
  if (std::find(named.begin(), named.end(), 1) == named.end())
    return invalid_argument(cat("--device '", text, "': there is no such device; there are ", all));
  return named;
}

/// Why nothing is shown.
std::string nothing_text(const NodeFilter& filter, const Graph& graph) {
  std::string text = "no node has";
  std::string_view comma = " ";
  for (const auto& [flag, value] : {std::pair<std::string_view, const std::string&>{"--nodes", filter.nodes},
                                    {"--device", filter.device},
                                    {"--op", filter.op}}) {
    if (!value.empty()) append(text, comma, flag, " '", value, "'"), comma = " and ";
  }
  Suggestion op(filter.op);
  for (NodeId node = 0; node < graph.num_nodes() && !filter.op.empty(); ++node) {
    if (graph.op(node) == filter.op) return text;
    op.offer(graph.op(node));
  }
  return op.best().empty() ? text : cat(text, "; ", op.text());
}

}  // namespace

Result<std::unique_ptr<Expression>> name_pattern(std::string_view pattern) {
  auto made = std::make_unique<Expression>(with_digits(pattern), Expression::Match::kWhole);
  if (made->sound()) return made;
  return invalid_argument(cat("'", pattern, "' is not a regular expression: ", made->what_is_wrong()));
}

Status NodeFilter::check() const {
  if (!device.empty()) RETURN_IF_ERROR(read_device(device).take_status());
  return nodes.empty() ? ok_status() : read_names(nodes).take_status();
}

Result<std::vector<char>> NodeFilter::shown(const Graph& graph, const DeviceSet& set,
                                            const Placement& placement) const {
  std::vector<char> devices(set.size(), 1);
  std::unique_ptr<Expression> name;
  if (!device.empty()) {
    ASSIGN_OR_RETURN(devices, devices_named(set, device));
  }
  if (!nodes.empty()) {
    ASSIGN_OR_RETURN(name, read_names(nodes));
  }
  std::vector<char> shown(graph.num_nodes(), 0);
  for (const NodeId node : placement.order) {
    shown[node] = (op.empty() || graph.op(node) == op) && devices[placement.device(node)] &&
                  (!name || name->matches(std::string(graph.name(node))));
  }
  if (std::find(shown.begin(), shown.end(), 1) == shown.end()) return invalid_argument(nothing_text(*this, graph));
  return shown;
}

}  // namespace emplace
