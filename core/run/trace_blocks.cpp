#include "core/run/trace_blocks.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace {
namespace {

/// What a look at the clock and its note add to a launch's time: the note takes some 0.4 of the look.
int64_t time_of_look(const LaunchTrace& trace) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 100; ++i) {
    const int64_t before = trace.now();
    least = std::min(least, trace.now() - before);
  }
  return least + least * 2 / 5;
}

}  // namespace

std::span<const TraceBlocks::Block> TraceBlocks::of_step() {
  if (steps_ == 0) list_each();
  if (steps_ == kTimedSteps && trace_.shares()) join_short();
  if (steps_ <= kTimedSteps) ++steps_;
  return blocks_;
}

void TraceBlocks::list_each() {
  least_.assign(work_.size(), std::numeric_limits<int64_t>::max());
  for (uint32_t launch = 0; launch < work_.size(); ++launch) blocks_.push_back({launch + 1, work_[launch]});
}

/// Without the looks, and not nothing: so a block ends.
std::vector<int64_t> TraceBlocks::least_ns() const {
  const int64_t look = std::min(time_of_look(trace_), *std::min_element(least_.begin(), least_.end()));
  const double ns_of_unit = trace_.ns_of_unit();
  std::vector<int64_t> ns;
  for (const int64_t time : least_)
    ns.push_back(std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(time - look) * ns_of_unit)));
  return ns;
}

bool TraceBlocks::shares(uint32_t launch, int64_t ns) const {
  const LaunchedWork& work = trace_.work(work_[launch]);
  return ns < kShortNs && work.from == kNoDevice && !work.is_loop;
}

void TraceBlocks::join_short() {
  const std::vector<int64_t> least = least_ns();
  blocks_.clear();
  const auto size = static_cast<uint32_t>(work_.size());
  for (uint32_t begin = 0; begin < size;) {
    uint32_t end = begin + 1;
    const DeviceId device = trace_.work(work_[begin]).device;
    if (shares(begin, least[begin])) {
      for (int64_t ns = least[begin]; end < size && ns < kBlockNs; ns += least[end++]) {
        if (!shares(end, least[end]) || trace_.work(work_[end]).device != device) break;
      }
    }
    blocks_.push_back({end, end == begin + 1 ? work_[begin] : add_block(begin, end)});
    begin = end;
  }
}

uint32_t TraceBlocks::add_block(uint32_t begin, uint32_t end) {
  LaunchedWork block = trace_.work(work_[begin]);
  for (uint32_t launch = begin + 1; launch < end; ++launch) {
    const LaunchedWork& work = trace_.work(work_[launch]);
    block.nodes.insert(block.nodes.end(), work.nodes.begin(), work.nodes.end());
    block.bytes += work.bytes;
  }
  block.launches = end - begin;
  return trace_.add_work(std::move(block));
}

}  // namespace emplace
