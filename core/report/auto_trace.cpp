// Part of core/report/auto_report.h: the schedule of a step as a trace, of the form that run --trace has.
#include <cmath>

#include "core/report/auto_bands.h"
#include "core/report/trace_events.h"

namespace emplace {
namespace {

/// Microseconds, rounded to nanoseconds.
double in_ns(double us) { return std::round(us * 1e3) / 1e3; }

void add_row(TraceEvents& events, const AutoReport::Row& row, int64_t process, size_t line) {
  events.add([&](JsonWriter& json) {
    json.member("ph", "X").member("pid", process).member("tid", static_cast<int64_t>(line));
    json.member("name", row.what).member("cat", row.copy ? "copy" : "node");
    json.member("ts", in_ns(row.start_us)).member("dur", in_ns(row.end_us - row.start_us));
    json.key("args").begin_object().member("step", 0);
    if (row.copy) json.member("bytes", row.bytes);
    json.end_object();
  });
}

}  // namespace

std::string schedule_trace(const AutoReport& report) {
  TraceEvents events;
  int64_t process = 0;
  for (const auto& [name, band] : auto_bands(report)) {
    events.add_name("process_name", process, 0, name);
    for (size_t i = 0; i < band.rows.size(); ++i) add_row(events, *band.rows[i], process, band.lines[i]);
    ++process;
  }
  return events.finish(report.described ? "\"predicted\": true, \"described\": true" : "\"predicted\": true");
}

}  // namespace emplace
