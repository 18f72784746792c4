#include "core/report/copies/ledger.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

#include "core/base/cat.h"
#include "core/device/device_text.h"
#include "core/device/task_map.h"
#include "core/partition/meetings.h"
#include "core/partition/partition.h"

namespace emplace {
namespace {

class LedgerMaker {
 public:
  LedgerMaker(const GraphFile& file, const DeviceSet& devices, const Placement& placement)
      : file_(file), g_(file.graph), devices_(devices), placement_(placement), tasks_(devices) {}

  /// `before`: the program runs once, before the first step.
  Status add(const StepRequest& request, bool before) {
    ASSIGN_OR_RETURN(const Program program, partition(file_, devices_, placement_, request, {.to_run = false}));
    find_readers(program);
    for (const Instruction& s : program.instructions) {
      if (s.kind == InstructionKind::kCopy) {
        LedgerRow row = row_of(program, program.inputs(s)[0], program.outputs(s)[0]);
        row.kind = before ? CopyKind::kVariable : copy_kind(program, s);
        if (row.kind == CopyKind::kFeed) row.from = kNoDevice;
        row.readers = readers_[program.outputs(s)[0]];
        ledger_.rows.push_back(std::move(row));
      } else if (!before && s.kind == InstructionKind::kNode && is_collective(g_, s.node)) {
        add_collective(program, s);
      }
    }
    for (const ValueId v : program.fetches) add_fetch(program, v);
    return ok_status();
  }

  Ledger made() {
    std::stable_sort(ledger_.rows.begin(), ledger_.rows.end(), [](const LedgerRow& x, const LedgerRow& y) {
      if (x.kind != y.kind) return x.kind < y.kind;
      return x.bytes.value_or(-1) > y.bytes.value_or(-1);
    });
    return std::move(ledger_);
  }

 private:
  std::optional<int64_t> bytes_of(const Endpoint& tensor) const {
    const std::optional<int64_t> elements = g_.output_shape(tensor).checked_num_elements();
    const auto size = static_cast<int64_t>(dtype_size(base_type(g_.output_type(tensor))));
    int64_t bytes = 0;
    if (!elements || size == 0 || __builtin_mul_overflow(*elements, size, &bytes)) return {};
    return bytes;
  }

  MemoryKind memory_of(const PlacedValue& v) const {
    return devices_.at(v.home).type == "CPU" ? MemoryKind::kHost : MemoryKind::kDevice;
  }

  LedgerRow row_of(const Program& program, ValueId from, ValueId to) const {
    const PlacedValue &a = program.values[from], &b = program.values[to];
    LedgerRow row;
    row.tensor = a.tensor;
    row.from = a.device;
    row.to = b.device;
    row.from_home = a.home;
    row.to_home = b.home;
    row.from_memory = memory_of(a);
    row.to_memory = memory_of(b);
    row.bytes = bytes_of(a.tensor);
    if (tasks_.of[a.home] != tasks_.of[b.home])
      row.path = "network";
    else if (a.home != b.home && row.from_memory == MemoryKind::kDevice && row.to_memory == MemoryKind::kDevice)
      row.path = has_link(a.home, b.home) ? "direct" : cat("via ", short_device_name(devices_, program.host));
    return row;
  }

  bool has_link(DeviceId from, DeviceId to) const {
    if (devices_.at(from).kind == DeviceKind::kSimulatedGpu) return true;
    const auto& links = devices_.at(from).links;
    const int other = devices_.at(to).parsed.id.value_or(0);
    return std::any_of(links.begin(), links.end(), [&](const DeviceLink& link) { return link.device_id == other; });
  }

  void add_fetch(const Program& program, ValueId v) {
    if (memory_of(program.values[v]) == MemoryKind::kHost) return;
    LedgerRow row = row_of(program, v, v);
    row.kind = CopyKind::kFetch;
    row.to = kNoDevice;
    row.to_home = program.host;
    row.to_memory = MemoryKind::kHost;
    ledger_.rows.push_back(std::move(row));
  }

  void add_collective(const Program& program, const Instruction& s) {
    if (s.num_inputs == 0) return;
    const ValueId v = program.inputs(s)[0];
    LedgerRow row = row_of(program, v, v);
    row.kind = CopyKind::kCollective;
    row.path = "all of them";
    row.readers = {s.node};
    ledger_.rows.push_back(std::move(row));
  }

  void find_readers(const Program& program) {
    readers_.assign(program.values.size(), {});
    for (const Instruction& s : program.instructions) {
      if (s.kind != InstructionKind::kNode && s.kind != InstructionKind::kConstant) continue;
      for (const ValueId v : program.inputs(s)) {
        if (readers_[v].empty() || readers_[v].back() != s.node) readers_[v].push_back(s.node);
      }
    }
  }

  const GraphFile& file_;
  const Graph& g_;
  const DeviceSet& devices_;
  const Placement& placement_;
  const TaskMap tasks_;
  std::vector<std::vector<NodeId>> readers_;  // by value of the program at hand
  Ledger ledger_;
};

/// Is it that copy? A task that sends does not know who reads.
bool is_of(const LedgerRow& row, const LaunchedWork& copy) {
  const bool reads =
      copy.reader == kNoNode || std::find(row.readers.begin(), row.readers.end(), copy.reader) != row.readers.end();
  return row.is_traced() && reads && row.tensor.node == copy.nodes.front() && row.from_home == copy.from &&
         row.to_home == copy.device;
}

}  // namespace

int64_t Ledger::count(CopyKind kind) const {
  return std::count_if(rows.begin(), rows.end(), [&](const LedgerRow& row) { return row.kind == kind; });
}

int64_t Ledger::count_of_step() const { return static_cast<int64_t>(rows.size()) - count(CopyKind::kVariable); }

int64_t Ledger::bytes_of_step() const {
  int64_t bytes = 0;
  for (const LedgerRow& row : rows) bytes += row.kind == CopyKind::kVariable ? 0 : row.bytes.value_or(0);
  return bytes;
}

int64_t Ledger::unknown_bytes() const {
  return std::count_if(rows.begin(), rows.end(),
                       [](const LedgerRow& row) { return row.kind != CopyKind::kVariable && !row.bytes; });
}

Result<Ledger> step_ledger(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                           const StepRequest& request, const std::vector<NodeId>& init) {
  LedgerMaker maker(file, devices, placement);
  RETURN_IF_ERROR(maker.add(request, false));
  if (!init.empty()) RETURN_IF_ERROR(maker.add({{}, init, {}, {}}, true));
  return maker.made();
}

void add_measured(const TraceRecorder& trace, Ledger& ledger) {
  struct Sum {
    double us = 0;
    int64_t spans = 0, bytes = 0;
  };
  using Way = std::tuple<NodeId, uint32_t, DeviceId, DeviceId>;
  std::map<Way, Sum> sums;
  int64_t last_step = -1;
  for (const Span& span : trace.spans()) {
    last_step = std::max(last_step, span.step);
    if (!span.what.is_copy() || span.step < 0) continue;
    Sum& sum = sums[{span.what.node, span.what.slot, span.what.from, span.what.device}];
    sum.us += static_cast<double>(span.end_ns - span.start_ns) / 1e3;
    sum.bytes = span.bytes;
    ++sum.spans;
  }
  const auto way_of = [](const LedgerRow& row) {
    return Way{row.tensor.node, row.tensor.slot, row.from_home, row.to_home};
  };
  std::map<Way, int64_t> rows;  // more than one: for kernels on the CPU, and for those of a GPU that read host memory
  for (const LedgerRow& row : ledger.rows) rows[way_of(row)] += row.is_traced() ? 1 : 0;
  for (LedgerRow& row : ledger.rows) {
    if (!row.is_traced()) continue;
    const Sum sum = sums[way_of(row)];  // none: a branch that was not taken, a loop without a round
    row.times =
        static_cast<double>(sum.spans) / static_cast<double>(last_step + 1) / static_cast<double>(rows[way_of(row)]);
    if (sum.spans == 0) continue;
    row.measured_us = sum.us / static_cast<double>(sum.spans);
    if (!row.bytes) row.bytes = sum.bytes;
  }
}

void add_critical(const Graph& graph, const LaunchTrace& trace, const std::vector<StepTime>& steps, double step_us,
                  Ledger& ledger) {
  const std::vector<LaunchSpan> spans = trace.spans();
  const std::deque<LaunchedWork>& work = trace.work();
  std::vector<double> us(work.size(), 0), times(work.size(), 0);
  std::map<std::pair<int64_t, uint32_t>, int64_t> sent_ns;  // by step and transfer
  for (const LaunchSpan& span : spans) {
    const LaunchedWork& one = work[span.work];
    if (span.step < 0) continue;
    // What crosses the network takes from its sending to its arrival.
    if (one.peer != kNoTask && !one.receives) sent_ns.emplace(std::pair(span.step, one.transfer), span.start_ns);
    const auto sent = one.receives ? sent_ns.find({span.step, one.transfer}) : sent_ns.end();
    const int64_t start = sent == sent_ns.end() ? span.start_ns : sent->second;
    us[span.work] += static_cast<double>(span.end_ns - start) / 1e3;
    ++times[span.work];
  }
  const StepSplit split = split_steps(graph, work, spans, steps, step_us);
  for (uint32_t number = 0; number < work.size(); ++number) {
    const LaunchedWork& one = work[number];
    if (one.from == kNoDevice || times[number] == 0) continue;
    for (LedgerRow& row : ledger.rows) {
      if (!is_of(row, one) || row.times == 0) continue;  // 0: an observer saw that this branch was not taken
      const auto at = split.chain_us_of_copy.find(number);
      if (at != split.chain_us_of_copy.end()) row.critical_us += at->second;
      if (row.measured_us || (one.peer != kNoTask && !one.receives)) continue;
      row.measured_us = us[number] / times[number];
      row.times = times[number] / static_cast<double>(steps.size());
    }
  }
}

void add_predicted(const CostTable& costs, const DeviceSet& devices, Ledger& ledger) {
  for (LedgerRow& row : ledger.rows) {
    if (row.bytes) row.predicted_us = costs.copy_us(devices, row.from_home, row.to_home, *row.bytes);
  }
}

}  // namespace emplace
