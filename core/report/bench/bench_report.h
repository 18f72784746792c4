/// What `emplace bench` measured, as text, as a document that --baseline reads again, and as a table of costs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/plan/undone_transposes.h"
#include "core/report/bench/device_times.h"
#include "core/report/bench/node_costs.h"
#include "core/report/bench/predicted.h"
#include "core/report/bench/time_change.h"
#include "core/run/device_memory.h"

namespace emplace {

/// What a kind of device can do at most, measured beside.
struct MachinePeaks {
  double flops_per_s = 0;  // float32, all threads
  double bytes_per_s = 0;  // a copy: read and written
};

struct BenchFacts {
  std::string file, graph_hash, placement_hash, machine, version;
  std::vector<std::string> flags, devices;
  int64_t threads = 0;
};

struct BenchResult {
  BenchFacts facts;
  double first_step_us = 0;
  int64_t warmup = 0;         // steps that do not count, of all rounds
  int64_t rounds = 0;         // each planned anew
  StepTimes steps;            // all that count
  double traced_step_us = 0;  // median of the second pass, node by node; 0: there was none
  StepCosts costs;
  StepSplit split;              // of the devices' time; empty: nobody has looked
  std::vector<CopyCost> links;  // copies measured by themselves
  std::vector<DeviceMemory> memory;
  MachinePeaks peaks;
};

/// A measurement as it was saved.
struct Baseline {
  BenchFacts facts;
  StepTimes steps;
  std::map<std::string, double> node_us;  // by name
};
/// InvalidArgument: no such document.
Result<Baseline> read_baseline(std::string_view text, std::string_view origin);
/// What is not the same: "threads 2, was 4".
std::vector<std::string> different_facts(const BenchFacts& before, const BenchFacts& after);

struct BenchReport {
  const Graph* graph = nullptr;
  const DeviceSet* devices = nullptr;
  const BenchResult* result = nullptr;
  const Baseline* baseline = nullptr;           // null: none
  std::optional<TimeChange> change;             // with a baseline
  size_t top = 20;                              // rows of the table of nodes
  std::optional<PredictedStep> predicted = {};  // with --auto
  std::vector<LeftOut> left_out = {};           // of the run
  size_t line_width = 0;                        // of the terminal that shows the text; 0: none does
};

std::string bench_text(const BenchReport& report);
/// Everything, one line.
std::string bench_json(const BenchReport& report);
/// The table that --costs reads.
std::string costs_json(const BenchReport& report, std::string_view date);
/// "compute: 85 % of peak", "memory: 92 % of bandwidth", "memory: in caches", "launch"; "" if nobody knows.
std::string bound_by(const NodeCost& cost, const Device& device, const MachinePeaks& peaks);

}  // namespace emplace
