// Which launches of a traced step share a look at the clock.
#include "core/run/trace_blocks.h"

#include <catch2/catch.hpp>

using namespace emplace;

namespace {

struct TimedList {
  LaunchTrace trace;
  std::vector<uint32_t> numbers;

  explicit TimedList(LaunchTrace::Short launches = LaunchTrace::Short::kShared) : trace(launches) {}

  void add(NodeId node, DeviceId device, DeviceId from = kNoDevice) {
    LaunchedWork work;
    work.nodes = {node};
    work.device = device;
    work.from = from;
    work.bytes = 4;
    numbers.push_back(trace.add_work(std::move(work)));
  }

  /// Where blocks end once launches took these times in the first steps.
  std::vector<uint32_t> ends(const std::vector<int64_t>& ns) {
    TraceBlocks blocks(trace, numbers);
    for (int step = 0; step < TraceBlocks::kTimedSteps; ++step) {
      CHECK(blocks.of_step().size() == ns.size());
      for (uint32_t i = 0; i < ns.size(); ++i)
        blocks.see(i, static_cast<int64_t>(static_cast<double>(ns[i]) / trace.ns_of_unit()));
    }
    std::vector<uint32_t> ends;
    for (const TraceBlocks::Block& block : blocks.of_step()) ends.push_back(block.end);
    return ends;
  }
};

}  // namespace

TEST_CASE("trace blocks: what runs under two microseconds shares a look at the clock with its neighbours") {
  TimedList list;
  for (NodeId node = 0; node < 5; ++node) list.add(node, 0);
  CHECK(list.ends({100, 100, 50'000, 100, 100}) == std::vector<uint32_t>{2, 3, 5});
  const LaunchedWork& block = list.trace.work().at(5);
  CHECK(block.nodes == std::vector<NodeId>{0, 1});
  CHECK(block.launches == 2);
  CHECK(block.bytes == 8);
}

TEST_CASE("trace blocks: copies and other devices end a block") {
  TimedList list;
  list.add(0, 0);
  list.add(1, 0);
  list.add(1, 1, 0);
  list.add(2, 1);
  list.add(3, 0);
  CHECK(list.ends({100, 100, 100, 100, 100}) == std::vector<uint32_t>{2, 3, 4, 5});
}

TEST_CASE("trace blocks: a block takes four microseconds, not the whole step") {
  TimedList list;
  for (NodeId node = 0; node < 20; ++node) list.add(node, 0);
  const std::vector<uint32_t> ends = list.ends(std::vector<int64_t>(20, 900));
  CHECK(ends.size() >= 3);
  CHECK(ends.size() <= 6);
}

TEST_CASE("trace blocks: who wants each launch gets each") {
  TimedList list(LaunchTrace::Short::kEach);
  for (NodeId node = 0; node < 3; ++node) list.add(node, 0);
  CHECK(list.ends({100, 100, 100}) == std::vector<uint32_t>{1, 2, 3});
}
