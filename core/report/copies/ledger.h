/// The copy ledger: everything that moves bytes in a step, and before the first one, a row for each (tensor,
/// destination, memory).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/partition/copy_kind.h"
#include "core/partition/memory_kind.h"
#include "core/partition/step_request.h"
#include "core/place/placement.h"
#include "core/report/bench/cost_table.h"
#include "core/report/bench/device_times.h"
#include "core/run/trace.h"

namespace emplace {

struct LedgerRow {
  CopyKind kind = CopyKind::kEdge;
  Endpoint tensor;
  DeviceId from = kNoDevice, to = kNoDevice;  // devices; kNoDevice: the host
  MemoryKind from_memory = MemoryKind::kHost, to_memory = MemoryKind::kHost;
  DeviceId from_home = kNoDevice, to_home = kNoDevice;  // whose memory, as a trace says it
  std::optional<int64_t> bytes;                         // of one time, where the shape is known
  double times = 1;                                     // of a step; of a variable's row: before the first one
  std::optional<double> predicted_us, measured_us;      // of one time
  double critical_us = 0;  // of a step: how long its longest chain of launches is this copy; 0 also where nobody looked
  std::string path;        // "direct", "via CPU:0"; empty: there is only one
  std::vector<NodeId> readers;

  /// Is it a copy of the program, which a tracer sees? A fetch comes after the step, a collective is in its nodes.
  bool is_traced() const { return kind == CopyKind::kEdge || kind == CopyKind::kInside || kind == CopyKind::kFeed; }
};

struct Ledger {
  std::vector<LedgerRow> rows;  // edges first, then by kind; of a kind the largest first
  /// Of the rows of a kind.
  int64_t count(CopyKind kind) const;
  /// Of the rows that a step has: all but kVariable.
  int64_t count_of_step() const;
  int64_t bytes_of_step() const;  // where they are known
  int64_t unknown_bytes() const;  // rows of a step without
};

/// As a run would make them. `init`: the nodes that give variables their first values. An error is one that a run would
/// end with, too.
Result<Ledger> step_ledger(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                           const StepRequest& request, const std::vector<NodeId>& init);

/// What a traced run took: times, bytes and us of rows that it has.
void add_measured(const TraceRecorder& trace, Ledger& ledger);
/// The same of the run as it is: of rows that no observer saw, and what the longest chain of launches consists of.
/// `steps`: all that were run, in the trace's nanoseconds; `step_us`: what a step takes.
void add_critical(const Graph& graph, const LaunchTrace& trace, const std::vector<StepTime>& steps, double step_us,
                  Ledger& ledger);
void add_predicted(const CostTable& costs, const DeviceSet& devices, Ledger& ledger);

}  // namespace emplace
