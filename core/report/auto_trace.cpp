// Part of core/report/auto_report.h: the schedule of a step as a trace, of the form that run --trace has.
#include <cmath>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/report/auto_bands.h"

namespace emplace {
namespace {

class ScheduleTrace {
 public:
  std::string write(const AutoReport& r) {
    out_ = cat("{\"schema_version\": ", schema_version(Document::kTrace),
               ", \"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    int64_t process = 0;
    for (const auto& [name, band] : auto_bands(r)) {
      event([&](JsonWriter& json) {
        json.member("ph", "M").member("name", "process_name").member("pid", process).member("tid", 0);
        json.key("args").begin_object().member("name", name).end_object();
      });
      for (size_t i = 0; i < band.rows.size(); ++i) write_row(*band.rows[i], process, band.lines[i]);
      ++process;
    }
    return out_ + "\n], \"otherData\": {\"predicted\": true}}\n";
  }

 private:
  template <class F>
  void event(const F& members) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    JsonWriter json(out_);
    json.begin_object();
    members(json);
    json.end_object();
  }

  /// Microseconds, rounded to nanoseconds.
  static double in_ns(double us) { return std::round(us * 1e3) / 1e3; }

  void write_row(const AutoReport::Row& row, int64_t process, size_t line) {
    event([&](JsonWriter& json) {
      json.member("ph", "X").member("pid", process).member("tid", static_cast<int64_t>(line));
      json.member("name", row.what).member("cat", row.copy ? "copy" : "node");
      json.member("ts", in_ns(row.start_us)).member("dur", in_ns(row.end_us - row.start_us));
      json.key("args").begin_object().member("step", 0);
      if (row.copy) json.member("bytes", row.bytes);
      json.end_object();
    });
  }

  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string schedule_trace(const AutoReport& report) { return ScheduleTrace().write(report); }

}  // namespace emplace
