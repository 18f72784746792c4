#include "core/report/devices_report.h"

#include <cstdio>
#include <utility>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/units.h"

namespace emplace {
namespace {

using Row = std::vector<std::string>;

std::string rows_text(std::vector<Row> rows, size_t line_width) {
  Row header = std::move(rows.front());
  rows.erase(rows.begin());
  return table_text(std::move(header), rows, line_width);
}

std::string memory_text(int64_t bytes) { return bytes > 0 ? size_text(bytes) : "-"; }

std::string_view kind_text(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kSimulatedGpu:
      return "simulated";
    case DeviceKind::kCuda:
      return "cuda";
    case DeviceKind::kDescribed:
      return "described";
  }
  return "";
}

/// "GPU:0": TensorFlow's ids of the devices on a card.
std::vector<std::string> ids_on(const DeviceSet& set, size_t physical) {
  std::vector<std::string> ids;
  for (const Device& d : set.devices) {
    if (d.physical_gpu == static_cast<int>(physical)) ids.push_back(cat(d.type, ":", *d.parsed.id));
  }
  return ids;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) append(out, out.empty() ? "" : " ", word);
  return out.empty() ? "-" : out;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::vector<Row> device_rows(const DeviceSet& set) {
  std::vector<Row> rows{{"device", "memory", "kind", "description"}};
  for (const Device& d : set.devices) {
    rows.push_back({d.name, memory_text(d.memory_limit), std::string(kind_text(d.kind)),
                    printable(or_dash(d.physical_description))});
  }
  return rows;
}

std::vector<Row> card_rows(const DeviceSet& set) {
  std::vector<Row> rows{{"card", "CUDA", "TensorFlow", "PCI bus id", "memory", "UUID", "name"}};
  for (size_t i = 0; i < set.physical_gpus.size(); ++i) {
    const PhysicalGpu& gpu = set.physical_gpus[i];
    rows.push_back({cat(i),
                    !gpu.unusable.empty() ? "not used"
                    : gpu.platform_id < 0 ? "hidden"
                                          : cat(gpu.platform_id),
                    joined(ids_on(set, i)), or_dash(gpu.pci_bus_id), memory_text(gpu.memory), or_dash(gpu.uuid),
                    gpu.name});
  }
  return rows;
}

std::vector<Row> link_rows(const DeviceSet& set) {
  std::vector<Row> rows{{"link", "to", "type", "strength"}};
  for (const Device& d : set.devices) {
    for (const DeviceLink& link : d.links) {
      rows.push_back({cat(d.type, ":", *d.parsed.id), cat(d.type, ":", link.device_id), link.type, cat(link.strength)});
    }
  }
  return rows;
}

void write_attributes(JsonWriter& json, const Device& d) {
  json.begin_object().member("name", d.name).member("device_type", d.type).member("memory_limit", d.memory_limit);
  json.key("locality")
      .begin_object()
      .member("numa_node", d.numa_node)
      .key("links")
      .begin_object()
      .key("link")
      .begin_array();
  for (const DeviceLink& link : d.links) {
    json.begin_object()
        .compact()
        .member("device_id", link.device_id)
        .member("type", link.type)
        .member("strength", link.strength)
        .end_object();
  }
  json.end_array().end_object().end_object();
  json.member("physical_device_desc", d.physical_description);
  json.key("capability").begin_object();
  for (const auto& [name, value] : d.capability) json.member(name, value);
  json.end_object().end_object();
}

std::string hex_text(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

void write_tasks(JsonWriter& json, std::span<const TaskRow> tasks) {
  json.key("tasks").begin_array();
  for (const TaskRow& t : tasks) {
    json.begin_object().member("name", t.name).member("address", t.address);
    json.member("incarnation", hex_text(t.incarnation)).member("version", t.version);
    json.member("devices", t.devices).member("sessions", t.sessions).end_object();
  }
  json.end_array();
}

void write_card(JsonWriter& json, const DeviceSet& set, size_t index) {
  const PhysicalGpu& gpu = set.physical_gpus[index];
  json.begin_object().member("index", index).key("platform_id");
  gpu.platform_id < 0 ? json.null() : json.value(gpu.platform_id);
  json.key("nvml_index");
  gpu.nvml_index < 0 ? json.null() : json.value(gpu.nvml_index);
  json.member("name", gpu.name)
      .member("pci_bus_id", gpu.pci_bus_id)
      .member("uuid", gpu.uuid)
      .member("memory", gpu.memory);
  json.member("compute_capability", gpu.compute_capability);
  if (!gpu.unusable.empty()) json.member("unusable", gpu.unusable);
  json.key("devices").begin_array().compact();
  for (const std::string& id : ids_on(set, index)) json.value(id);
  json.end_array().end_object();
}

}  // namespace

std::string devices_table(const DeviceSet& set, size_t line_width) {
  std::string out = rows_text(device_rows(set), line_width);
  if (!set.physical_gpus.empty()) append(out, "\n", rows_text(card_rows(set), line_width));
  if (std::vector<Row> links = link_rows(set); links.size() > 1)
    append(out, "\n", rows_text(std::move(links), line_width));
  if (!set.no_gpu_cause.empty()) append(out, "\nno GPU: ", set.no_gpu_cause, "\n");
  return out;
}

std::string tasks_table(std::span<const TaskRow> tasks, size_t line_width) {
  std::vector<Row> rows{{"task", "address", "incarnation", "devices", "sessions", "version"}};
  for (const TaskRow& t : tasks)
    rows.push_back({printable(t.name), printable(t.address), hex_text(t.incarnation), cat(t.devices), cat(t.sessions),
                    printable(t.version)});
  return rows_text(std::move(rows), line_width);
}

std::string devices_json(const DeviceSet& set, std::span<const TaskRow> tasks) {
  std::string out;
  JsonWriter json(out, 2);
  write_schema(json.begin_object(), Document::kDevices).key("devices").begin_array();
  for (const Device& d : set.devices) write_attributes(json, d);
  json.end_array().key("physical_gpus").begin_array();
  for (size_t i = 0; i < set.physical_gpus.size(); ++i) write_card(json, set, i);
  json.end_array().key("cause");
  set.no_gpu_cause.empty() ? json.null() : json.value(set.no_gpu_cause);
  if (!tasks.empty()) write_tasks(json, tasks);
  json.end_object();
  out += '\n';
  return out;
}

std::string parse_name_json(std::string_view name) {
  std::string out;
  JsonWriter json(out);
  auto parsed = DeviceName::parse(name);
  write_schema(json.begin_object(), Document::kDeviceName).member("valid", parsed.has_value());
  if (parsed) json.member("canonical", parsed->to_string());
  json.end_object();
  out += '\n';
  return out;
}

std::string parse_name_text(std::string_view name) {
  auto parsed = DeviceName::parse(name);
  return cat(parsed ? parsed->to_string() : "malformed", "\n");
}

}  // namespace emplace
