#include "core/report/trace_counters.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/cat.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

using What = TraceCount::What;
constexpr size_t kNone = ~size_t{0};

bool is_copy(const TraceSlice& slice) { return slice.work->from != kNoDevice; }

class Counters {
 public:
  Counters(const Graph& graph, const std::vector<TraceSlice>& slices)
      : g_(graph), slices_(slices), last_use_(slices.size(), -1), ready_(slices.size(), -1) {}

  std::vector<TraceCount> make() {
    follow_tensors();
    for (size_t i = 0; i < slices_.size(); ++i) count(i);
    std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return std::tie(a.what, a.process, a.to, a.ns) < std::tie(b.what, b.process, b.to, b.ns);
    });
    return values();
  }

 private:
  struct Change {
    What what;
    DeviceId process, to;
    int64_t ns, delta;
  };
  /// Who made a node's tensors, in a step, and who brought them to another device's memory.
  struct Step {
    std::unordered_map<NodeId, size_t> made;
    std::map<std::pair<NodeId, DeviceId>, size_t> brought;
    int64_t start_ns = 0, end_ns = 0;
  };

  /// The slice whose output slice `reader` reads of `node`.
  size_t source_of(const Step& step, const TraceSlice& reader, NodeId node) const {
    const auto made = step.made.find(node);
    if (made == step.made.end()) return kNone;
    const DeviceId at = is_copy(reader) ? reader.work->from : reader.work->device;
    if (slices_[made->second].work->device == at) return made->second;
    const auto brought = step.brought.find({node, at});
    return brought == step.brought.end() ? made->second : brought->second;
  }

  void read(const Step& step, size_t reader, NodeId node) {
    const size_t source = source_of(step, slices_[reader], node);
    if (source == kNone || source == reader) return;
    last_use_[source] = std::max(last_use_[source], slices_[reader].end_ns);
    ready_[reader] = std::max(ready_[reader], slices_[source].end_ns);
  }

  void follow_tensors() {
    for (size_t i = 0; i < slices_.size(); ++i) {
      const TraceSlice& slice = slices_[i];
      const auto [at, is_new] = steps_.try_emplace(slice.step);
      Step& step = at->second;
      if (is_new) step.start_ns = slice.start_ns;
      step.end_ns = std::max(step.end_ns, slice.end_ns);
      ready_[i] = step.start_ns;
      if (is_copy(slice)) {
        const NodeId node = slice.work->nodes.front();
        read(step, i, node);
        step.brought[{node, slice.work->device}] = i;
        continue;
      }
      for (const NodeId node : slice.work->nodes) {
        for (const Endpoint& input : g_.inputs(node)) read(step, i, input.node);
        for (const Endpoint& control : g_.controls(node)) read(step, i, control.node);
      }
      for (const NodeId node : slice.work->nodes) step.made[node] = i;
    }
  }

  /// Variables and handles stay where they are.
  bool makes_tensors(const LaunchedWork& work) const {
    const NodeId node = work.nodes.empty() ? kNoNode : work.nodes.back();
    if (node == kNoNode || g_.num_outputs(node) == 0) return false;
    const DType type = g_.output_type({node, 0});
    return !is_ref(type) && type != DType::kResource;
  }

  void count(size_t i) {
    const TraceSlice& slice = slices_[i];
    const LaunchedWork& work = *slice.work;
    if (is_copy(slice) && !work.receives)
      add(What::kUnderWay, work.from, work.device, slice.start_ns, slice.end_ns, work.bytes);
    // What nobody reads is a result.
    const int64_t gone = last_use_[i] >= 0 ? last_use_[i] : steps_.at(slice.step).end_ns;
    if (makes_tensors(work)) add(What::kLive, work.device, kNoDevice, slice.start_ns, gone, work.bytes);
    if (!is_copy(slice)) add(What::kReady, work.device, kNoDevice, ready_[i], slice.start_ns, 1);
  }

  void add(What what, DeviceId process, DeviceId to, int64_t from_ns, int64_t until_ns, int64_t amount) {
    if (amount == 0 || until_ns <= from_ns) return;
    changes_.push_back({what, process, to, from_ns, amount});
    changes_.push_back({what, process, to, until_ns, -amount});
  }

  std::vector<TraceCount> values() const {
    constexpr int64_t kShortest = 1000;
    std::vector<TraceCount> counts;
    for (const Change& change : changes_) {
      const bool same = !counts.empty() && counts.back().what == change.what &&
                        counts.back().process == change.process && counts.back().to == change.to;
      const int64_t value = (same ? counts.back().value : 0) + change.delta;
      if (same && change.ns / kShortest == counts.back().ns / kShortest)
        counts.back().value = value;
      else
        counts.push_back({change.ns, change.process, change.to, change.what, value});
    }
    return counts;
  }

  const Graph& g_;
  const std::vector<TraceSlice>& slices_;
  std::vector<int64_t> last_use_, ready_;  // by slice: the end of its last reader, -1: none; when its inputs are there
  std::unordered_map<int64_t, Step> steps_;
  std::vector<Change> changes_;
};

}  // namespace

std::string counter_name(const TraceCount& count, const DeviceSet& devices) {
  switch (count.what) {
    case What::kUnderWay:
      return cat("bytes under way to ", short_device_name(devices, count.to));
    case What::kLive:
      return "bytes of live tensors";
    case What::kReady:
      return "ready nodes";
  }
  return {};
}

std::vector<TraceCount> counts_of(const Graph& graph, const std::vector<TraceSlice>& slices) {
  return Counters(graph, slices).make();
}

}  // namespace emplace
