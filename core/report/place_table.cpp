// Part of core/report/place_report.h: `emplace place` as text: nodes in assignment order, copies, one line of summary.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/text_width.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/place/moved.h"
#include "core/report/auto_report.h"
#include "core/report/place_report.h"
#include "core/report/placement_log.h"
#include "core/report/run_report.h"

namespace emplace {
namespace {

// Two walks over the nodes: the widths first, so that no table has to be kept.
void add_nodes(const PlaceReport& r, std::string& out) {
  const Graph& graph = r.file->graph;
  std::vector<std::string> names;
  for (DeviceId d = 0; d < r.devices->size(); ++d) names.push_back(short_device_name(*r.devices, d));
  const bool requests = std::any_of(r.placement->order.begin(), r.placement->order.end(), [&](NodeId node) {
    return shows(r, node) && !requested_device(graph, *r.options, node).empty();
  });
  Columns columns(requests ? std::vector<std::string>{"node", "op", "requested", "device", "reason"}
                           : std::vector<std::string>{"node", "op", "device", "reason"},
                  r.line_width);
  const size_t device = requests ? 3 : 2;
  for (NodeId node : r.placement->order) {
    if (!shows(r, node)) continue;
    columns.see(0, graph.name(node));
    columns.see(1, graph.op(node));
    if (requests) columns.see(2, requested_device(graph, *r.options, node));
    columns.see(device, names[r.placement->device(node)]);
  }
  columns.add_header(out);
  std::vector<std::string> cells;
  for (NodeId node : r.placement->order) {
    if (!shows(r, node)) continue;
    const Decision& d = r.placement->of(node);
    cells = {std::string(graph.name(node)), std::string(graph.op(node))};
    if (requests) cells.emplace_back(requested_device(graph, *r.options, node));
    cells.push_back(names[d.device]);
    cells.push_back(cat(reason_code(d.reason), ": ", reason_text(*r.placement, node)));
    columns.add(out, cells);
    drain_text(r, out);
  }
  const auto shown = std::count(r.shown.begin(), r.shown.end(), 1);
  if (!r.shown.empty()) append(out, shown, " of ", graph.num_nodes(), " nodes\n");
}

std::string way_text(const PlaceReport& r, const Copy& c) {
  std::string out = "  ";
  if (c.inside) {
    append(out, "within ", short_device_name(*r.devices, c.to), ", to ",
           c.received_in == MemoryKind::kHost ? "host memory" : "device memory");
  } else {
    append(out, c.from == kNoDevice ? "host" : short_device_name(*r.devices, c.from), " -> ",
           short_device_name(*r.devices, c.to));
    if (c.received_in == MemoryKind::kHost && r.devices->at(c.to).type != "CPU") out += " (host memory)";
  }
  if (!c.control) append(out, "  ", c.bytes ? size_text(*c.bytes) : "size unknown");
  return out;
}

/// A line as wide as the terminal at most: names give way, the tensor's last.
std::string copy_text(const PlaceReport& r, const Copy& c) {
  const Graph& graph = r.file->graph;
  std::string tensor = cat(c.control ? "^" : "", graph.name(c.tensor.node));
  if (!c.control) append(tensor, ':', c.tensor.slot);
  const std::string way = way_text(r, c);
  std::string readers;
  constexpr size_t kReaders = 3;
  for (size_t i = 0; i < std::min(kReaders, c.readers.size()); ++i) {
    append(readers, i ? ", " : "  for ", graph.name(c.readers[i]));
  }
  if (c.readers.size() > kReaders) append(readers, " and ", c.readers.size() - kReaders, " more");
  if (c.readers.empty()) readers = "  for the loop there";
  constexpr size_t kIndent = 2, kLeastTensor = 12, kLeastReaders = 16;
  if (const size_t room = r.line_width; room > 0) {
    const size_t fixed = kIndent + text_width(way);
    const size_t for_both = room > fixed ? room - fixed : 0, for_readers = std::min(text_width(readers), kLeastReaders);
    tensor = without_middle(tensor, std::max(kLeastTensor, for_both - std::min(for_both, for_readers)));
    const size_t used = text_width(tensor);
    readers = for_both >= used + kLeastReaders         ? without_middle(readers, for_both - used)
              : text_width(readers) + used <= for_both ? readers
                                                       : "";
  }
  return cat("  ", tensor, way, readers, "\n");
}

template <class F>
void add_copies(const PlaceReport& r, std::string_view title, const std::vector<Copy>& copies, const F& is_shown,
                std::string& out) {
  bool any = false;
  for (const Copy& c : copies) {
    if (!is_shown(c) || !shows(r, c)) continue;
    if (!any) append(out, '\n', title, ":\n");
    any = true;
    out += copy_text(r, c);
    drain_text(r, out);
  }
}

}  // namespace

bool shows(const PlaceReport& r, NodeId node) { return r.shown.empty() || r.shown[node]; }

bool shows(const PlaceReport& r, const Copy& copy) {
  return shows(r, copy.tensor.node) ||
         std::any_of(copy.readers.begin(), copy.readers.end(), [&](NodeId reader) { return shows(r, reader); });
}

std::string place_table(const PlaceReport& r) {
  std::string out;
  if (!r.placement) return out;
  add_nodes(r, out);
  if (!r.copies) return out;
  const std::vector<Copy>& copies = r.copies->copies;
  add_copies(
      r, "copies between devices, each step", copies, [](const Copy& c) { return !c.inside && !c.control; }, out);
  add_copies(
      r, "feeds, each step", r.copies->feeds, [](const Copy&) { return true; }, out);
  add_copies(
      r, "control edges between devices", copies, [](const Copy& c) { return c.control; }, out);
  add_copies(
      r, "copies within a GPU", copies, [](const Copy& c) { return c.inside; }, out);
  if (!r.copies->moves.empty()) out += "\ncontrol flow that runs beside its neighbour:\n";
  for (const Move& m : r.copies->moves) {
    append(out, "  ", r.file->graph.name(m.node), "  on ", short_device_name(*r.devices, m.device), '\n');
  }
  const PlaceReport* step = r.step;
  const int64_t moved =
      step ? count_moved_softly(step->file->graph, *step->devices, *step->options, *step->placement) : 0;
  append(out, '\n', placement_summary(r.file->graph, *r.devices, *r.options, *r.placement, *r.copies, moved));
  if (const std::string peak = peak_text(*r.devices, r.peak_bytes); !peak.empty()) append(out, " | ", peak);
  out += '\n';
  if (r.automatic) out += auto_text(*r.automatic);
  return out;
}

}  // namespace emplace
