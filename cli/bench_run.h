/// The steps of `emplace bench`: warm-up, rounds of steps without a watcher, then a pass that a tracer watches.
#pragma once

#include <cstdint>
#include <limits>

#include "core/pipeline.h"
#include "core/report/bench/bench_report.h"

namespace emplace {

struct BenchPlan {
  double min_time_s = 1;
  int64_t min_steps = 20;
  int64_t max_steps = 0;    // 0: as many as the time takes
  int64_t max_warmup = -1;  // -1: as many as 2 s take
  bool trace_nodes = true;
  int threads = 1;                                      // that a step may use
  double pace_us = std::numeric_limits<double>::max();  // the processor's best known one
};

/// A graph, placed and ready to be planned as often as is wanted.
struct BenchedGraph {
  StageContext& context;
  const Partitioned& partitioned;
  const RunRequest& request;
};

/// Fills in the times, costs and memory. Cancelled: a signal.
Status measure_steps(const BenchedGraph& graph, const BenchPlan& plan, BenchResult& result);

}  // namespace emplace
