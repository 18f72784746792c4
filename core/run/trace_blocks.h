/// TraceBlocks: which launches of a list share a look at the clock. In its first steps each launch is timed by itself;
/// from then on those that were seen to take less than two microseconds are timed in blocks of neighbours, so that a
/// trace costs a step some 2 %: the clock and its note take 20 to 50 ns, as much as a product of two numbers. What
/// takes longer, a copy and a loop stand alone as before.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/run/launch_trace.h"

namespace emplace {

class TraceBlocks {
 public:
  static constexpr int kTimedSteps = 3;
  static constexpr int64_t kShortNs = 2000;  // what takes less shares
  static constexpr int64_t kBlockNs = 4000;  // what a block takes before the next one begins

  struct Block {
    uint32_t end;   // launches up to here
    uint32_t work;  // its number in the trace
  };

  /// `work`: by launch, its number in the trace.
  TraceBlocks(LaunchTrace& trace, std::vector<uint32_t> work) : trace_(trace), work_(std::move(work)) {}

  bool empty() const { return work_.empty(); }
  uint32_t work(uint32_t launch) const { return work_[launch]; }

  /// Of a step whose launches run one after the other: what is timed as one. Never empty.
  std::span<const Block> of_step();
  /// How long a launch took that was timed by itself, in the trace's units.
  void see(uint32_t launch, int64_t time) {
    if (launch < least_.size() && time < least_[launch]) least_[launch] = time;
  }

 private:
  void list_each();
  std::vector<int64_t> least_ns() const;
  void join_short();
  uint32_t add_block(uint32_t begin, uint32_t end);
  bool shares(uint32_t launch, int64_t ns) const;

  LaunchTrace& trace_;
  const std::vector<uint32_t> work_;
  std::vector<int64_t> least_;  // by launch, of the steps that time each, in the trace's units
  std::vector<Block> blocks_;
  int steps_ = 0;
};

}  // namespace emplace
