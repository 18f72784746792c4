// Part of core/report/place_report.h: `emplace place` as text: nodes in assignment order, copies, one line of summary.
#include <algorithm>
#include <array>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/place/moved.h"
#include "core/report/auto_report.h"
#include "core/report/place_report.h"
#include "core/report/placement_log.h"
#include "core/report/run_report.h"

namespace emplace {
namespace {

constexpr size_t kMaxWidth = 40;  // wider cells push their row, not the column

using Row = std::array<std::string, 4>;

void add_row(std::string& out, const Row& row, const std::array<size_t, 4>& width) {
  for (size_t i = 0; i < row.size(); ++i) {
    out += row[i];
    if (i + 1 == row.size()) break;
    out.append(width[i] > row[i].size() ? width[i] - row[i].size() + 2 : 2, ' ');
  }
  out += '\n';
}

// Two walks over the nodes: the widths first, so that no table has to be kept.
void add_nodes(const PlaceReport& r, std::string& out) {
  const Graph& graph = r.file->graph;
  std::vector<std::string> names;
  for (DeviceId d = 0; d < r.devices->size(); ++d) names.push_back(short_device_name(*r.devices, d));
  const Row header = {"node", "op", "device", "reason"};
  std::array<size_t, 4> width{};
  for (size_t i = 0; i < header.size(); ++i) width[i] = header[i].size();
  for (NodeId node : r.placement->order) {
    width[0] = std::max(width[0], std::min(kMaxWidth, graph.name(node).size()));
    width[1] = std::max(width[1], std::min(kMaxWidth, graph.op(node).size()));
    width[2] = std::max(width[2], names[r.placement->device(node)].size());
  }
  add_row(out, header, width);
  for (NodeId node : r.placement->order) {
    const Decision& d = r.placement->of(node);
    add_row(out,
            {std::string(graph.name(node)), std::string(graph.op(node)), names[d.device],
             cat(reason_code(d.reason), ": ", reason_text(*r.placement, node))},
            width);
    drain_text(r, out);
  }
}

std::string copy_text(const PlaceReport& r, const Copy& c) {
  const Graph& graph = r.file->graph;
  std::string out = cat("  ", c.control ? "^" : "", graph.name(c.tensor.node));
  if (!c.control) append(out, ':', c.tensor.slot);
  if (c.inside) {
    append(out, "  within ", short_device_name(*r.devices, c.to), ", to ",
           c.received_in == MemoryKind::kHost ? "host memory" : "device memory");
  } else {
    append(out, "  ", short_device_name(*r.devices, c.from), " -> ", short_device_name(*r.devices, c.to));
    if (c.received_in == MemoryKind::kHost && r.devices->at(c.to).type != "CPU") out += " (host memory)";
  }
  if (!c.control) append(out, "  ", c.bytes ? size_text(*c.bytes) : "size unknown");
  constexpr size_t kReaders = 3;
  for (size_t i = 0; i < std::min(kReaders, c.readers.size()); ++i) {
    append(out, i ? ", " : "  for ", graph.name(c.readers[i]));
  }
  if (c.readers.size() > kReaders) append(out, " and ", c.readers.size() - kReaders, " more");
  if (c.readers.empty()) out += "  for the loop there";
  return out + '\n';
}

template <class F>
void add_copies(const PlaceReport& r, std::string_view title, const F& is_shown, std::string& out) {
  bool any = false;
  for (const Copy& c : r.copies->copies) {
    if (!is_shown(c)) continue;
    if (!any) append(out, '\n', title, ":\n");
    any = true;
    out += copy_text(r, c);
    drain_text(r, out);
  }
}

}  // namespace

std::string place_table(const PlaceReport& r) {
  std::string out;
  if (!r.placement) return out;
  add_nodes(r, out);
  if (!r.copies) return out;
  add_copies(
      r, "copies between devices, each step", [](const Copy& c) { return !c.inside && !c.control; }, out);
  add_copies(
      r, "control edges between devices", [](const Copy& c) { return c.control; }, out);
  add_copies(
      r, "copies within a GPU", [](const Copy& c) { return c.inside; }, out);
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
