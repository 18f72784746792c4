#include "core/report/auto_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {

std::string percent_text(double share) {
  char text[40];
  const double percent = share * 100;
  std::snprintf(text, sizeof text,
                std::abs(percent) < 0.1  ? "%.2f %%"
                : std::abs(percent) < 10 ? "%.1f %%"
                                         : "%.0f %%",
                percent);
  return text;
}

namespace {

std::string us_text(double us) { return time_text(us / 1e6); }

std::string gap_text(const AutoReport& r) {
  if (r.optimal) return "optimal";
  if (r.bound_us <= 0) return "nobody knows how far from the best possible";
  return cat("at least ", us_text(r.bound_us), ": at most ", percent_text(r.gap()), " over the best possible");
}

std::string critical_text(const AutoReport& r) {
  std::string out;
  double copies_us = 0;
  int64_t copies = 0;
  for (const AutoReport::Row& row : r.critical) {
    if (row.copy) copies_us += row.end_us - row.start_us, ++copies;
  }
  // The first and the last of a long path.
  constexpr size_t kEnds = 4;
  for (size_t i = 0; i < r.critical.size(); ++i) {
    if (i == kEnds && r.critical.size() > 2 * kEnds) out += " > ...", i = r.critical.size() - kEnds;
    const AutoReport::Row& row = r.critical[i];
    out += i > 0 ? " > " : "";
    if (row.copy) {
      append(out, "copy ", size_text(row.bytes), ' ', us_text(row.end_us - row.start_us));
    } else {
      append(out, row.what, ' ', row.device.substr(row.device.rfind("device:") + 7));
    }
  }
  const double all = r.critical.empty() ? 0 : r.critical.back().end_us;
  return cat(out, " (", copies, copies == 1 ? " copy, " : " copies, ", percent_text(all > 0 ? copies_us / all : 0),
             " of it)");
}

std::string loads_text(const AutoReport& r) {
  std::string out;
  for (const AutoReport::Load& load : r.loads) {
    if (load.compute_us <= 0 && load.copies_us <= 0) continue;
    append(out, out.empty() ? "" : " | ", load.title, " compute ", percent_text(load.busy));
    if (load.copies_us > 0) append(out, " copies ", percent_text(load.copying));
    append(out, " idle ", percent_text(std::max(0.0, 1 - load.busy - load.copying)));
  }
  return out;
}

void write_rows(JsonWriter& json, const std::vector<AutoReport::Row>& rows) {
  json.begin_array();
  for (const AutoReport::Row& row : rows) {
    json.begin_object();
    if (row.copy) {
      json.member("copy", row.what).member("from", row.device).member("to", row.to);
    } else {
      json.member("node", row.what).member("device", row.device);
    }
    json.member("start_us", row.start_us).member("end_us", row.end_us).end_object();
  }
  json.end_array();
}

}  // namespace

std::string auto_text(const AutoReport& r) {
  const char* goal = r.latency ? "latency" : "throughput";
  std::string out = cat("\nauto ", goal, ": ", us_text(r.predicted_us), r.latency ? "" : " a step", " predicted");
  if (r.high_us > r.low_us) append(out, " (", us_text(r.low_us), " to ", us_text(r.high_us), ")");
  append(out, ", ", gap_text(r), " | ", counted(r.evaluations, "evaluation"), ", ", time_text(r.seconds));
  if (r.stopped == "time") out += ", cut short by --time-limit";
  if (r.described) out += " | costs of described devices, not measured";
  out += '\n';
  if (r.kept)
    append(out, "  no gain: the best found takes ", us_text(r.best_us),
           ", not 2 % less than TensorFlow's placement, which is kept\n");
  size_t width = 0;
  for (const auto& a : r.alternatives) width = std::max(width, a.title.size());
  for (const auto& a : r.alternatives) {
    append(out, "  ", a.title, std::string(width - a.title.size() + 2, ' '));
    if (!a.over.empty()) {
      append(out, "does not fit: ", a.over, '\n');
      continue;
    }
    const double more = r.predicted_us > 0 ? a.us / r.predicted_us - 1 : 0;
    append(out, us_text(a.us), more < 0 ? "   " : "   +", percent_text(more), '\n');
  }
  if (const std::string loads = loads_text(r); !loads.empty()) append(out, "  ", loads, '\n');
  if (!r.critical.empty()) append(out, "  critical path: ", critical_text(r), '\n');
  for (const AutoReport::Sensitivity& s : r.sensitivity)
    append(out, "  fragile: with ", s.what, ' ', percent_text(s.change), " slower ", s.instead, " is ",
           percent_text(s.gain), " better\n");
  if (!r.latency)
    append(out, "  one step by itself takes ", us_text(r.one_step_us),
           "; the rate needs several steps in flight (run --in-flight K)\n");
  return out;
}

void write_auto(JsonWriter& json, const AutoReport& r) {
  json.begin_object().member("objective", r.latency ? "latency" : "throughput");
  json.member("predicted_us", r.predicted_us).member("low_us", r.low_us).member("high_us", r.high_us);
  json.member("best_us", r.best_us).member("lower_bound_us", r.bound_us).member("bound", r.bound);
  json.member("gap", r.gap()).member("optimal", r.optimal).member("no_gain", r.kept);
  json.member("described", r.described).member("evaluations", r.evaluations).member("stopped", r.stopped);
  json.member("seed", r.seed).member("one_step_us", r.one_step_us).key("costs").begin_array();
  for (const std::string& file : r.costs) json.value(file);
  json.end_array().key("alternatives").begin_array();
  for (const auto& a : r.alternatives) {
    json.begin_object().member("name", a.name).member("predicted_us", a.us).member("fits", a.over.empty()).end_object();
  }
  json.end_array().key("sensitivity").begin_array();
  for (const auto& s : r.sensitivity) {
    json.begin_object().member("what", s.what).member("instead", s.instead).member("change", s.change);
    json.member("gain", s.gain).end_object();
  }
  json.end_array().key("load_us").begin_array();
  for (const auto& load : r.loads) {
    json.begin_object().member("device", load.device).member("compute", load.compute_us);
    json.member("copies", load.copies_us).end_object();
  }
  json.end_array().key("critical_path");
  write_rows(json, r.critical);
  json.key("schedule");
  write_rows(json, r.schedule);
  json.end_object();
}

}  // namespace emplace
