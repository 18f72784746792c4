#include "core/report/place_report.h"

#include "core/base/assert.h"
#include "core/base/cat.h"

namespace emplace {
namespace {

// Quoted where a comma, a quote or a line end would be misread (RFC 4180).
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string place_csv(const PlaceReport& r) {
  std::string out = "name,op,requested,device,reason\n";
  if (!r.placement) return out;
  const Graph& graph = r.file->graph;
  for (NodeId node : r.placement->order) {
    const Decision& d = r.placement->of(node);
    append(out, csv_field(graph.name(node)), ',', csv_field(graph.op(node)), ',',
           csv_field(requested_device(graph, *r.options, node)), ',', r.devices->at(d.device).name, ',',
           reason_code(d.reason), '\n');
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
      break;
  }
  EMPLACE_ASSERT(false, "a placement is one document");
  return {};
}

}  // namespace emplace
