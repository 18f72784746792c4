#include "core/report/bench/cost_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/base/json_document.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/units.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

/// A time, a size or a speed: finite, not negative, and not beyond what sums of it can bear.
Result<double> cost_of(const Json& value, std::string_view origin, std::string_view of, std::string_view key) {
  const double number = value.is_number() ? value.get<double>() : -1;
  constexpr double kMost = 1e15;
  if (!std::isfinite(number) || number < 0 || number > kMost)
    return invalid_argument(cat(origin, ": ", of, ": ", key, " is ", shown(value), "; wanted a number from 0 to 1e15"));
  return number;
}

Result<double> cost_at(const Json& object, const char* key, std::string_view origin, std::string_view of) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null()) return 0.0;
  return cost_of(*at, origin, of, key);
}

/// "CPU", "GPU:1".
Status check_device(std::string_view name, std::string_view origin, std::string_view of) {
  const std::string_view type = name.substr(0, name.find(':'));
  const std::string_view id = type.size() == name.size() ? "0" : name.substr(type.size() + 1);
  const bool number = !id.empty() && id.size() < 6 && id.find_first_not_of("0123456789") == std::string_view::npos;
  if ((type == "CPU" || type == "GPU") && number) return ok_status();
  return invalid_argument(
      cat(origin, ": ", of, ": unknown device '", printable(name), "'; wanted CPU, GPU or, of one, GPU:1"));
}

Status read_links(const Json& list, std::string_view origin, CostTable& table) {
  for (const Json& link : list) {
    if (!link.is_object() || !link.contains("from") || !link.contains("to") || !link["from"].is_string() ||
        !link["to"].is_string())
      return invalid_argument(
          cat(origin, ": links: wanted {\"from\": \"CPU\", \"to\": \"GPU\", ...}, found ", shown(link)));
    const std::string from = link["from"], to = link["to"], of = cat("link ", printable(from), " -> ", printable(to));
    RETURN_IF_ERROR(check_device(from, origin, of));
    RETURN_IF_ERROR(check_device(to, origin, of));
    LinkCost& cost = table.links[{from, to}];
    ASSIGN_OR_RETURN(cost.latency_us, cost_at(link, "latency_us", origin, of));
    ASSIGN_OR_RETURN(cost.bytes_per_us, cost_at(link, "bytes_per_us", origin, of));
    if (link.contains("bytes_per_us") && link["bytes_per_us"].is_number() && cost.bytes_per_us <= 0)
      return invalid_argument(cat(origin, ": ", of, ": bytes_per_us is 0; wanted a number above 0, or null"));
    ASSIGN_OR_RETURN(cost.spread, cost_at(link, "spread", origin, of));
  }
  return ok_status();
}

/// {"CPU": 1.5, "GPU:1": 2}.
Status read_by_device(const Json& node, const char* key, std::string_view origin, std::string_view of,
                      std::map<std::string, double>& costs) {
  const auto at = node.find(key);
  if (at == node.end()) return ok_status();
  if (!at->is_object())
    return invalid_argument(cat(origin, ": ", of, ": ", key, " is ", shown(*at), "; wanted {\"CPU\": 1.5}"));
  for (const auto& [device, value] : at->items()) {
    RETURN_IF_ERROR(check_device(device, origin, of));
    ASSIGN_OR_RETURN(costs[device], cost_of(value, origin, of, device));
  }
  return ok_status();
}

Status read_cost_nodes(const Json& nodes, std::string_view origin, CostTable& table) {
  for (const auto& [name, node] : nodes.items()) {
    const std::string of = cat("node ", printable(name));
    if (!node.is_object())
      return invalid_argument(cat(origin, ": nodes: ", printable(name), ": wanted {\"us\": {\"CPU\": 1.5}}"));
    NodeRow& row = table.nodes[name];
    RETURN_IF_ERROR(read_by_device(node, "us", origin, of, row.us));
    RETURN_IF_ERROR(read_by_device(node, "resident", origin, of, row.resident));
    ASSIGN_OR_RETURN(row.spread, cost_at(node, "spread", origin, of));
    ASSIGN_OR_RETURN(row.split_us, cost_at(node, "split", origin, of));
    const Json outputs = node.value("outputs", Json::array());
    if (!outputs.is_array())
      return invalid_argument(cat(origin, ": ", of, ": outputs is ", shown(outputs), "; wanted a list of bytes"));
    for (const Json& bytes : outputs) {
      ASSIGN_OR_RETURN(const double output, cost_of(bytes, origin, of, "outputs"));
      row.outputs.push_back(output);
    }
  }
  return ok_status();
}

Status read_kernel_costs(const Json& list, std::string_view origin, CostTable& table) {
  for (const Json& row : list) {
    const auto text = [&](const char* key) {
      return row.is_object() && row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "";
    };
    KernelCost cost;
    cost.key = text("key");
    const std::string op = text("op"), device = text("device"),
                      of = cat("kernel ", printable(op), " on ", printable(device));
    if (op.empty() || device.empty())
      return invalid_argument(
          cat(origin, ": kernels: wanted {\"op\": \"MatMul\", \"device\": \"GPU\", ...}, found ", shown(row)));
    RETURN_IF_ERROR(check_device(device, origin, of));
    ASSIGN_OR_RETURN(cost.us, cost_at(row, "us", origin, of));
    ASSIGN_OR_RETURN(cost.spread, cost_at(row, "spread", origin, of));
    ASSIGN_OR_RETURN(cost.flops, cost_at(row, "flops", origin, of));
    ASSIGN_OR_RETURN(cost.bytes, cost_at(row, "bytes", origin, of));
    table.kernels[{op, device}].push_back(std::move(cost));
  }
  return ok_status();
}

Status read_lanes(const Json& lanes, std::string_view origin, CostTable& table) {
  for (const auto& [device, row] : lanes.items()) {
    const std::string of = cat("lanes of ", printable(device));
    RETURN_IF_ERROR(check_device(device, origin, of));
    if (!row.is_object()) return invalid_argument(cat(origin, ": ", of, ": wanted {\"lanes\": 2}, found ", shown(row)));
    LaneCost& cost = table.lanes[device];
    if (row.contains("lanes")) {
      ASSIGN_OR_RETURN(const double number, cost_at(row, "lanes", origin, of));
      if (number > 65536 || number != std::floor(number))
        return invalid_argument(cat(origin, ": ", of, ": lanes is ", shown(row["lanes"]), "; wanted 0 to 65536"));
      cost.lanes = static_cast<int>(number);
    }
    if (!row.contains("copy_overlap")) continue;
    if (!row["copy_overlap"].is_boolean())
      return invalid_argument(
          cat(origin, ": ", of, ": copy_overlap is ", shown(row["copy_overlap"]), "; wanted true or false"));
    cost.copy_overlap = row["copy_overlap"].get<bool>();
  }
  return ok_status();
}

Status read_machine(const Json& machine, std::string_view origin, CostTable& table) {
  if (const auto id = machine.find("id"); id != machine.end() && id->is_string()) table.machine = *id;
  if (const auto by = machine.find("emplace"); by != machine.end() && by->is_string()) table.version = *by;
  ASSIGN_OR_RETURN(const double threads, cost_at(machine, "threads", origin, "machine"));
  table.threads = static_cast<int64_t>(threads);
  ASSIGN_OR_RETURN(table.flops_per_s, cost_at(machine, "flops_per_s", origin, "machine"));
  ASSIGN_OR_RETURN(table.bytes_per_s, cost_at(machine, "bytes_per_s", origin, "machine"));
  if (const auto one = machine.find("one_at_a_time"); one != machine.end()) {
    if (!one->is_boolean())
      return invalid_argument(cat(origin, ": machine: one_at_a_time is ", shown(*one), "; wanted true or false"));
    table.one_at_a_time = one->get<bool>();
  }
  const Json devices = machine.value("devices", Json::array());
  for (const Json& device : devices.is_array() ? devices : Json::array()) {
    if (device.is_string()) table.machine_devices.push_back(device);
  }
  return ok_status();
}

}  // namespace

double LinkCost::us_per_byte() const {
  constexpr double kSlowest = 1e6;
  return bytes_per_us > 0 ? std::min(1 / bytes_per_us, kSlowest) : 0;
}

std::vector<std::string> names_in_costs(const DeviceSet& devices, DeviceId device) {
  const Device& d = devices.at(device);
  std::vector<std::string> names{short_device_name(devices, device)};
  if (d.parsed.id) names.push_back(cat(d.type, ':', *d.parsed.id));
  names.push_back(d.type);
  return names;
}

const LinkCost* CostTable::link(const DeviceSet& devices, DeviceId from, DeviceId to) const {
  for (const std::string& a : names_in_costs(devices, from)) {
    for (const std::string& b : names_in_costs(devices, to)) {
      if (const auto at = links.find({a, b}); at != links.end()) return &at->second;
    }
  }
  return nullptr;
}

std::optional<double> CostTable::copy_us(const DeviceSet& devices, DeviceId from, DeviceId to, int64_t bytes) const {
  const LinkCost* cost = link(devices, from, to);
  if (!cost) return {};
  return cost->latency_us + static_cast<double>(bytes) * cost->us_per_byte();
}

std::optional<double> CostTable::node_us(std::string_view name, const DeviceSet& devices, DeviceId device) const {
  const auto node = nodes.find(name);
  if (node == nodes.end()) return {};
  for (const std::string& where : names_in_costs(devices, device)) {
    if (const auto us = node->second.us.find(where); us != node->second.us.end()) return us->second;
  }
  return {};
}

void CostTable::merge(CostTable later) {
  if (!later.machine.empty()) machine = later.machine, one_at_a_time = later.one_at_a_time;
  if (later.flops_per_s > 0) flops_per_s = later.flops_per_s;
  if (later.bytes_per_s > 0) bytes_per_s = later.bytes_per_s;
  machine_devices.insert(machine_devices.end(), later.machine_devices.begin(), later.machine_devices.end());
  for (auto& [device, cost] : later.lanes) lanes[device] = cost;
  for (auto& [ends, cost] : later.links) links[ends] = cost;
  for (auto& [what, costs] : later.kernels) {
    // Later ones are looked at first.
    std::vector<KernelCost>& all = kernels[what];
    all.insert(all.begin(), costs.begin(), costs.end());
  }
  for (auto& [name, row] : later.nodes) {
    NodeRow& mine = nodes[name];
    for (const auto& [device, us] : row.us) mine.us[device] = us;
    for (const auto& [device, bytes] : row.resident) mine.resident[device] = bytes;
    if (!row.outputs.empty()) mine.outputs = row.outputs;
    mine.spread = std::max(mine.spread, row.spread);
    mine.split_us = std::max(mine.split_us, row.split_us);
  }
}

Result<CostTable> read_costs(std::string_view text, std::string_view origin) {
  ASSIGN_OR_RETURN(const Json json, parse_json(text, origin));
  const bool is_table =
      json.is_object() && (json.contains("links") || json.contains("nodes") || json.contains("kernels"));
  if (!is_table)
    return invalid_argument(cat(origin, ": no table of costs: 'emplace bench GRAPH --save-costs FILE' writes one"));
  RETURN_IF_ERROR(check_schema(Document::kCosts, json.value("schema_version", Json()).dump()).with_context(origin));
  CostTable table;
  const Json none_listed = Json::array(), none_named = Json::object();
  const auto member = [&](const char* name, const Json& none) -> const Json& {
    const auto at = json.find(name);
    return at == json.end() || at->is_null() ? none : *at;
  };
  const Json &links = member("links", none_listed), &kernels = member("kernels", none_listed),
             &nodes = member("nodes", none_named), &lanes = member("lanes", none_named),
             &machine = member("machine", none_named);
  if (!links.is_array() || !kernels.is_array() || !nodes.is_object() || !lanes.is_object() || !machine.is_object())
    return invalid_argument(
        cat(origin, ": wanted 'links' and 'kernels' as lists, 'nodes', 'lanes' and 'machine' as objects"));
  RETURN_IF_ERROR(read_machine(machine, origin, table));
  RETURN_IF_ERROR(read_lanes(lanes, origin, table));
  RETURN_IF_ERROR(read_links(links, origin, table));
  RETURN_IF_ERROR(read_kernel_costs(kernels, origin, table));
  RETURN_IF_ERROR(read_cost_nodes(nodes, origin, table));
  return table;
}

Result<CostTable> read_cost_file(const std::string& path) {
  InputOptions options;
  options.most_bytes = 64 * kMiB;
  Result<std::shared_ptr<const InputFile>> file = InputFile::open(path, options);
  if (!file.ok()) {
    const Blame blame = file.status().code() == Code::kInvalidArgument ? Blame::kFile : Blame::kUsage;
    return file.status().with_context("--costs").blamed(blame);
  }
  Result<CostTable> table = read_costs((*file)->bytes(), printable(path));
  if (!table.ok()) return table.status().blamed(Blame::kFile);
  return table;
}

}  // namespace emplace
