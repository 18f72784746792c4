// Part of core/report/place_report.h: `emplace place --format json`: the document of the command-line contract.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/base/sha256.h"
#include "core/partition/copy_kind.h"
#include "core/place/candidate_sets.h"
#include "core/place/moved.h"
#include "core/place/overrides.h"
#include "core/report/auto_report.h"
#include "core/report/place_report.h"
#include "core/report/run_report.h"

namespace emplace {
namespace {

void write_devices(const PlaceReport& r, JsonWriter& json) {
  json.key("devices").begin_array();
  for (DeviceId d = 0; d < r.devices->size(); ++d) {
    json.begin_object().member("name", r.devices->at(d).name).member("memory_limit", r.devices->at(d).memory_limit);
    json.key("peak");
    d < r.peak_bytes.size() && r.peak_bytes[d] ? json.value(*r.peak_bytes[d]) : json.null();
    if (d < r.without_workspaces.size() && r.without_workspaces[d]) json.member("peak_without_workspaces", true);
    json.end_object();
  }
  json.end_array();
}

/// As in a GraphDef; controls sorted.
void write_inputs(const Graph& graph, NodeId node, JsonWriter& json) {
  json.key("input").begin_array();
  for (const Endpoint& e : graph.inputs(node))
    json.value(e.slot == 0 ? std::string(graph.name(e.node)) : cat(graph.name(e.node), ':', e.slot));
  std::vector<std::string_view> controls;
  for (const Endpoint& e : graph.controls(node)) controls.push_back(graph.name(e.node));
  std::sort(controls.begin(), controls.end());
  for (const std::string_view control : controls) json.value(cat('^', control));
  json.end_array();
}

void write_node(const PlaceReport& r, NodeId node, CandidateSets& sets, JsonWriter& json) {
  const Graph& graph = r.file->graph;
  const Decision& d = r.placement->of(node);
  json.begin_object().member("name", graph.name(node)).member("op", graph.op(node));
  write_inputs(graph, node, json);
  json.member("requested", requested_device(graph, *r.options, node)).member("device", r.devices->at(d.device).name);
  json.key("reason").begin_object().member("code", reason_code(d.reason));
  json.member("text", reason_text(*r.placement, node)).end_object();
  if (r.origins && r.origins->of(node) != Origins::kFile) json.member("origin", r.origins->text(node));
  json.member("candidates", sets.of(*r.placement, node)).end_object();
}

/// Numbers of devices by verdict, for nodes with the set's number; "chosen" is each node's own device.
void write_candidate_sets(const CandidateSets& sets, JsonWriter& json) {
  json.key("candidate_sets").begin_array();
  for (uint32_t set = 0; set < sets.size(); ++set) {
    std::map<std::string_view, std::vector<DeviceId>> devices;
    for (DeviceId d = 0; d < sets.at(set).size(); ++d) devices[verdict_code(sets.at(set)[d])].push_back(d);
    json.begin_object();
    for (const auto& [verdict, ids] : devices) {
      json.key(verdict).begin_array();
      for (const DeviceId d : ids) json.value(d);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

void write_copies(const PlaceReport& r, JsonWriter& json) {
  const Graph& graph = r.file->graph;
  const auto device = [&](DeviceId d) -> const std::string& { return r.devices->at(d).name; };
  const auto memory = [](MemoryKind kind) { return kind == MemoryKind::kHost ? "host" : "device"; };
  const auto tensor = [&](const Copy& c) { return cat(graph.name(c.tensor.node), ':', c.tensor.slot); };

  json.key("copies").begin_array();
  for (const Copy& c : r.copies->copies) {
    if (c.control || c.inside || !shows(r, c)) continue;
    json.begin_object().member("tensor", tensor(c)).member("from", device(c.from)).member("to", device(c.to));
    json.member("memory", memory(c.received_in)).key("bytes");
    c.bytes ? json.value(*c.bytes) : json.null();
    json.member("kind", copy_kind_name(CopyKind::kEdge)).member("from_memory", memory(c.sent_from));
    json.member("to_memory", memory(c.received_in)).end_object();
  }
  json.end_array().key("feeds").begin_array();
  for (const Copy& c : r.copies->feeds) {
    if (!shows(r, c)) continue;
    json.begin_object().member("tensor", tensor(c)).member("to", device(c.to)).key("bytes");
    c.bytes ? json.value(*c.bytes) : json.null();
    json.member("kind", copy_kind_name(CopyKind::kFeed)).member("from_memory", memory(c.sent_from));
    json.member("to_memory", memory(c.received_in)).end_object();
  }
  json.end_array().key("control").begin_array();
  for (const Copy& c : r.copies->copies) {
    if (!c.control || !shows(r, c)) continue;
    json.begin_object()
        .member("node", graph.name(c.tensor.node))
        .member("from", device(c.from))
        .member("to", device(c.to))
        .end_object();
  }
  json.end_array().key("inside").begin_array();
  for (const Copy& c : r.copies->copies) {
    if (!c.inside || !shows(r, c)) continue;
    json.begin_object()
        .member("tensor", tensor(c))
        .member("device", device(c.to))
        .member("memory", memory(c.received_in))
        .key("bytes");
    c.bytes ? json.value(*c.bytes) : json.null();
    json.member("kind", copy_kind_name(CopyKind::kInside)).member("from_memory", memory(c.sent_from));
    json.member("to_memory", memory(c.received_in)).end_object();
  }
  json.end_array().key("moved").begin_array();
  for (const Move& m : r.copies->moves) {
    json.begin_object().member("node", graph.name(m.node)).member("device", device(m.device)).end_object();
  }
  json.end_array();
}

/// In whole nanoseconds.
double rounded_ms(double ms) { return std::round(ms * 1e6) / 1e6; }

void write_summary(const PlaceReport& r, JsonWriter& json) {
  const int64_t soft = count_moved_softly(r.file->graph, *r.devices, *r.options, *r.placement);
  json.key("summary").begin_object().member("nodes", r.placement->decisions.size()).member("soft", soft);
  json.member("copies", r.copies->num_across()).member("copy_bytes", r.copies->bytes_across()).end_object();
}

}  // namespace

std::string place_json(const PlaceReport& r) {
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kPlacement);
  json.key("graph").begin_object().member("file", r.path).key("sha256");
  r.source ? json.value(sha256_hex(r.source->text())) : json.null();
  json.end_object().key("placement_hash");
  r.placement ? json.value(placement_hash(r.file->graph, *r.devices, *r.placement)) : json.null();
  write_devices(r, json);
  CandidateSets sets;
  json.key("placement").begin_array();
  if (r.placement) {
    for (NodeId node : r.placement->order) {
      if (!shows(r, node)) continue;
      write_node(r, node, sets, json);
      drain_text(r, out);
    }
  }
  json.end_array();
  if (r.placement && r.copies) {
    write_copies(r, json);
    write_summary(r, json);
  } else {
    json.key("copies").begin_array().end_array().key("summary").null();
  }
  if (r.step) {
    json.key("step").begin_object().key("placement").begin_array();
    for (NodeId node : r.step->placement->order) {
      write_node(*r.step, node, sets, json);
      drain_text(r, out);
    }
    json.end_array();
    write_copies(*r.step, json);
    write_summary(*r.step, json);
    json.end_object();
  }
  write_candidate_sets(sets, json);
  if (r.automatic) {
    json.key("auto");
    write_auto(json, *r.automatic);
  }
  json.key("timing")
      .begin_object()
      .member("load_ms", rounded_ms(r.load_ms))
      .member("place_ms", rounded_ms(r.place_ms))
      .end_object();
  json.key("error");
  write_error(json, r.error);
  if (!r.offenders.empty()) {
    json.key("offenders").begin_array();
    for (const std::string& line : r.offenders) json.value(line);
    json.end_array();
  }
  json.end_object();
  return out + '\n';
}

}  // namespace emplace
