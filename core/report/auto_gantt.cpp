// Part of core/report/auto_report.h: the schedule of a step as a picture.
#include <algorithm>
#include <cstdio>
#include <map>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/report/auto_bands.h"

namespace emplace {
namespace {

constexpr double kLeft = 180, kWide = 1200, kLane = 18, kGap = 6, kTop = 30;

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", x);
  return text;
}

void add_bar(std::string& out, const AutoReport::Row& row, double y, double scale) {
  const std::string label = html_text(row.what), time = time_text((row.end_us - row.start_us) / 1e6);
  append(out, "<rect class=\"", row.copy ? "copy" : "node", "\" x=\"", number(kLeft + row.start_us * scale), "\" y=\"",
         number(y), "\" width=\"", number(std::max(0.5, (row.end_us - row.start_us) * scale)), "\" height=\"",
         number(kLane - 2), "\"><title>", label, ' ', time, " from ", time_text(row.start_us / 1e6),
         "</title></rect>\n");
  constexpr double kLetter = 7;
  const double room = (row.end_us - row.start_us) * scale;
  if (room > kLetter * static_cast<double>(row.what.size() + 1))
    append(out, "<text x=\"", number(kLeft + row.start_us * scale + 3), "\" y=\"", number(y + kLane - 6), "\">", label,
           "</text>\n");
}

}  // namespace

std::string gantt_svg(const AutoReport& r) {
  const std::map<std::string, AutoBand> bands = auto_bands(r);
  double end = 0;
  for (const AutoReport::Row& row : r.schedule) end = std::max(end, row.end_us);
  const double scale = end > 0 ? kWide / end : 0;
  std::string body;
  double y = kTop;
  for (const auto& [name, band] : bands) {
    append(body, "<text class=\"name\" x=\"4\" y=\"", number(y + kLane - 6), "\">", html_text(name), "</text>\n");
    for (size_t i = 0; i < band.rows.size(); ++i)
      add_bar(body, *band.rows[i], y + kLane * static_cast<double>(band.lines[i]), scale);
    y += kLane * static_cast<double>(band.num_lines) + kGap;
  }
  const std::string size = cat("width=\"", number(kLeft + kWide + 10), "\" height=\"", number(y + kGap), '"');
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" ", size,
             ">\n<style>text{font:11px sans-serif}.name{font-weight:bold}.node{fill:#9ecae1;stroke:#3182bd}"
             ".copy{fill:#fdae6b;stroke:#e6550d}</style>\n<text x=\"4\" y=\"16\">",
             r.latency ? "latency" : "one step, placed for throughput", ": ", time_text(r.one_step_us / 1e6),
             r.described ? ", by costs of described devices, not measured" : "", "</text>\n", body, "</svg>\n");
}

}  // namespace emplace
