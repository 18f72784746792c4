/// What --auto found and how far that is from the best possible, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "core/report/bench/cost_estimate.h"

namespace emplace {

/// Times are microseconds.
struct AutoReport {
  /// A placement that somebody would have made without a search.
  struct Alternative {
    std::string name = {}, title = {};  // "tensorflow", "TensorFlow's placement"
    double us = 0;
    std::string over = {};  // "21.3 of 16.0 GiB"; empty: it fits
  };
  struct Load {
    std::string device, title;  // full name; "GPU:0"
    double compute_us = 0, copies_us = 0;
    double busy = 0, copying = 0;  // shares of the step
  };
  struct Row {
    bool copy = false;
    std::string what, device, to;  // a node and its device, or a tensor, from and to
    double start_us = 0, end_us = 0;
    int64_t bytes = 0;  // of a copy
  };
  struct Sensitivity {
    std::string what;     // "link CPU GPU:1"
    std::string instead;  // "TensorFlow's placement"
    double change = 0, gain = 0;
  };

  bool latency = true;  // else throughput
  double predicted_us = 0, low_us = 0, high_us = 0, best_us = 0, bound_us = 0;
  double one_step_us = 0;  // of throughput: what a step takes by itself
  std::string bound;
  bool optimal = false, kept = false, described = false;
  int64_t evaluations = 0, seed = 0;
  std::string stopped;  // "evaluations", "time", "exact"
  double seconds = 0;
  std::vector<std::string> costs;
  std::vector<Alternative> alternatives;  // TensorFlow's first
  std::vector<Load> loads;
  std::vector<Row> schedule, critical;  // critical: rows that wait for each other, from the first to the last
  std::vector<Sensitivity> sensitivity;
  std::vector<std::optional<CostEstimate>> node_costs;  // NodeId * devices + device; what one run of it takes

  /// How much more than the bound, as a share.
  double gap() const { return bound_us > 0 ? predicted_us / bound_us - 1 : 0; }
};

/// "0.35 %", "8.4 %", "41 %".
std::string percent_text(double share);
/// The lines under the table of nodes.
std::string auto_text(const AutoReport& report);
/// The member "auto".
void write_auto(JsonWriter& json, const AutoReport& report);
/// The schedule as a picture: a band for each device, and for each way of copies.
std::string gantt_svg(const AutoReport& report);
/// The schedule as Chrome's trace event format, which run --trace writes, too: a process for each of those bands.
std::string schedule_trace(const AutoReport& report);

}  // namespace emplace
