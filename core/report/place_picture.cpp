// Part of core/report/place_report.h: The placement as a dot graph, and as a page that needs nothing else.
#include <map>
#include <string>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/device/device_text.h"
#include "core/report/dot_text.h"
#include "core/report/place_report.h"
#include "core/report/placement_log.h"

namespace emplace {
namespace {

constexpr std::string_view kColors[] = {"#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3",
                                        "#fdb462", "#b3de69", "#fccde5", "#d9d9d9", "#bc80bd"};

std::string_view color_of(DeviceId d) { return kColors[d % std::size(kColors)]; }

}  // namespace

std::string place_dot(const PlaceReport& r) {
  std::string out = "digraph placement {\n  node [shape=box, style=filled];\n";
  if (!r.placement) return out + "}\n";
  const Graph& graph = r.file->graph;
  std::map<DeviceId, std::string> clusters;
  for (NodeId node : r.placement->order) {
    append(clusters[r.placement->device(node)], "    n", node,
           " [label=", dot_text(cat(graph.name(node), " (", graph.op(node), ")")), "];\n");
  }
  for (const auto& [device, nodes] : clusters) {
    append(out, "  subgraph cluster_", device, " {\n    label=", dot_text(short_device_name(*r.devices, device)),
           ";\n    node [fillcolor=\"", color_of(device), "\"];\n", nodes, "  }\n");
  }
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const auto edge = [&](NodeId source, std::string_view style) {
      const bool crosses = r.placement->device(source) != r.placement->device(node);
      append(out, "  n", source, " -> n", node, " [", style, crosses ? "penwidth=3, color=red" : "", "];\n");
    };
    for (Endpoint e : graph.inputs(node)) edge(e.node, "");
    for (Endpoint e : graph.controls(node)) edge(e.node, "style=dashed, ");
    drain_text(r, out);
  }
  return out + "}\n";
}

std::string place_html(const PlaceReport& r) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>placement</title>\n<style>\n"
      "body{font-family:sans-serif}table{border-collapse:collapse}td,th{padding:.2em .6em;text-align:left;"
      "border-bottom:1px solid #ccc}\n</style></head><body>\n";
  if (!r.placement) return cat(out, "<pre>", html_text(r.error.message()), "</pre>\n</body></html>\n");
  const Graph& graph = r.file->graph;
  if (r.copies)
    append(out, "<p>", html_text(placement_summary(r.file->graph, *r.devices, *r.options, *r.placement, *r.copies)),
           "</p>\n");
  out += "<table>\n<tr><th>node<th>op<th>requested<th>device<th>reason</tr>\n";
  for (NodeId node : r.placement->order) {
    const Decision& d = r.placement->of(node);
    append(out, "<tr style=\"background:", color_of(d.device), "\"><td>", html_text(graph.name(node)), "<td>",
           html_text(graph.op(node)), "<td>", html_text(requested_device(graph, *r.options, node)), "<td>",
           html_text(short_device_name(*r.devices, d.device)), "<td>", reason_code(d.reason), ": ",
           html_text(reason_text(*r.placement, node)), "</tr>\n");
    drain_text(r, out);
  }
  out += "</table>\n";
  if (r.copies && r.copies->num_across() > 0) {
    out += "<h2>copies between devices</h2>\n<table>\n<tr><th>tensor<th>from<th>to<th>bytes</tr>\n";
    for (const Copy& c : r.copies->copies) {
      if (c.inside || c.control) continue;
      append(out, "<tr><td>", html_text(graph.name(c.tensor.node)), ':', c.tensor.slot, "<td>",
             html_text(short_device_name(*r.devices, c.from)), "<td>", html_text(short_device_name(*r.devices, c.to)),
             "<td>", c.bytes ? std::to_string(*c.bytes) : "unknown", "</tr>\n");
    }
    out += "</table>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace emplace
