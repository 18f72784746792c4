#include "core/report/place_report.h"

#include "core/base/assert.h"
#include "core/base/printable.h"

namespace emplace {
std::string place_csv(const PlaceReport& r) {
  std::string out = "name,op,requested,device,reason\n";
  if (!r.placement) return out;
  const Graph& graph = r.file->graph;
  for (NodeId node : r.placement->order) {
    if (!shows(r, node)) continue;
    const Decision& d = r.placement->of(node);
    for (const std::string_view cell : {graph.name(node), graph.op(node), requested_device(graph, *r.options, node),
                                        std::string_view(r.devices->at(d.device).name)}) {
      append_csv_cell(out, cell);
      out += ',';
    }
    out += reason_code(d.reason);
    out += '\n';
    drain_text(r, out);
  }
  return out;
}

void drain_text(const PlaceReport& report, std::string& text) {
  constexpr size_t kEnough = size_t{1} << 16;
  if (report.drain && text.size() >= kEnough) report.drain(text);
}

std::string place_document(const PlaceReport& report, Format format) {
  switch (format) {
    case Format::kText:
      return place_table(report);
    case Format::kJson:
      return place_json(report);
    case Format::kCsv:
      return place_csv(report);
    case Format::kDot:
      return place_dot(report);
    case Format::kHtml:
      return place_html(report);
    case Format::kJsonl:
    case Format::kMarkdown:
      break;
  }
  EMPLACE_ASSERT(false, "a placement is one document");
  return {};
}

}  // namespace emplace
