// Part of core/pipeline_stage.h: what --dump prints of each stage.
#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/pipeline_stage.h"
#include "core/report/graph_dump.h"
#include "core/report/place_report.h"
#include "core/report/run_report.h"

namespace emplace {
namespace {

std::string endpoint_text(const Graph& g, Endpoint e) {
  return e.slot == 0 ? std::string(g.name(e.node)) : cat(g.name(e.node), ":", e.slot);
}

/// "name: Op(inputs, ^controls) @device" per node, and what it was made of.
std::string nodes_text(const Graph& g, const Origins& origins = {}) {
  std::string out;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    append(out, g.name(id), ": ", g.op(id), "(");
    std::string_view comma = "";
    for (Endpoint input : g.inputs(id)) append(out, comma, endpoint_text(g, input)), comma = ", ";
    for (Endpoint control : g.controls(id)) append(out, comma, "^", g.name(control.node)), comma = ", ";
    out += ")";
    if (!g.requested_device(id).empty()) append(out, " @", g.requested_device(id));
    if (origins.of(id) != Origins::kFile) append(out, "  # ", origins.text(id));
    out += "\n";
  }
  return out;
}

}  // namespace

std::string dump_text(const Loaded& loaded) { return nodes_text(loaded.file->graph); }

std::string dump_text(const Validated& validated) { return dump_typed_graph(validated.file->graph); }

std::string dump_lowered(const Validated& validated) {
  return nodes_text(validated.file->graph, validated.lowering->origins);
}

std::string dump_text(const Placed& placed) {
  const CopyPlan none;
  PlaceReport report;
  report.file = placed.file.get();
  report.devices = placed.devices.get();
  report.options = placed.options.get();
  report.placement = placed.placement.get();
  report.copies = &none;
  return place_table(report);
}

std::string dump_text(const Partitioned& p) {
  std::string out;
  for (const Copy& copy : p.copies->copies) {
    append(out, copy.control ? "^" : "", endpoint_text(p.file->graph, copy.tensor), ": ", p.devices->at(copy.from).name,
           " -> ", p.devices->at(copy.to).name, copy.received_in == MemoryKind::kHost ? " (host memory)" : "",
           copy.bytes ? cat(", ", size_text(*copy.bytes)) : "", "\n");
  }
  return out.empty() ? "no copies\n" : out;
}

std::string dump_text(const Planned& planned) { return memory_table(*planned.devices, planned.session->memory()); }

}  // namespace emplace
