// What devices do in each moment of a step, on launches whose times are made by hand.
#include "core/report/bench/device_times.h"

#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

/// 'a' on device 0 is copied to device 1, where 'b' reads it behind an Identity that has no launch; 'c' is there, too.
struct TwoDevices {
  PlacedGraph g{R"(
    {"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [2]}},
    {"name": "a", "op": "Neg", "input": ["x"]},
    {"name": "i", "op": "Identity", "input": ["a"]},
    {"name": "b", "op": "Abs", "input": ["i"]},
    {"name": "c", "op": "Abs", "input": ["x"]})"};
  const Graph& graph = g.file->graph;
  const NodeId a = graph.find("a"), b = graph.find("b"), c = graph.find("c");
  const std::deque<LaunchedWork> work = {{{a}, 0, kNoDevice, kNoNode, 8},
                                         {{a}, 1, 0, b, 8},
                                         {{b}, 1, kNoDevice, kNoNode, 8},
                                         {{c}, 1, kNoDevice, kNoNode, 8}};
  std::vector<LaunchSpan> spans;
  std::vector<StepTime> steps;

  /// Of 100 us; `a` takes `more` longer.
  void add_step(int64_t more = 0) {
    const auto step = static_cast<int64_t>(steps.size());
    const int64_t begin = step * 10'000;
    const auto span = [&](uint32_t of, uint32_t thread, int64_t start, int64_t end) {
      spans.push_back({of, thread, step, (begin + start) * 1000, (begin + end) * 1000});
    };
    span(0, 0, 10, 50 + more);
    span(3, 1, 20, 30);
    span(1, 0, 55 + more, 60 + more);
    span(2, 1, 60 + more, 80 + more);
    steps.push_back({step, begin * 1000, (begin + 100 + more) * 1000});
  }
};

}  // namespace

TEST_CASE("a device computes, takes copies, waits for data or for a thread, or has nothing left: all of the step") {
  TwoDevices t;
  t.add_step();
  const StepSplit split = split_steps(t.graph, t.work, t.spans, t.steps, 50);  // unwatched, it takes half as long
  REQUIRE(split.devices.size() == 2);
  const DeviceTime &first = split.devices[0], &second = split.devices[1];
  CHECK(first.compute_us == Approx(20));
  CHECK(first.idle_us == Approx(30));
  CHECK(first.copies_us + first.wait_data_us + first.wait_lane_us == Approx(0).margin(1e-9));
  CHECK(first.waits_for == kNoNode);
  CHECK(second.compute_us == Approx(15));
  CHECK(second.copies_us == Approx(2.5));
  CHECK(second.wait_data_us == Approx(10));       // for 'a', from the end of 'c' on
  CHECK(second.wait_lane_us == Approx(5 + 2.5));  // 'c' could have begun with 'a', the copy at its end
  CHECK(second.idle_us == Approx(5 + 10));        // before the first launch, and at the end
  CHECK(second.waits_for == t.a);
  CHECK(second.waits_on == 0);
  CHECK(second.waits_for_us == Approx(10));
  CHECK(split.chain_copies == Approx(1));
  CHECK(split.chain_copies_us == Approx(2.5));
}

TEST_CASE("steps that take unusually long do not count in what devices do") {
  TwoDevices t;
  t.add_step();
  t.add_step();
  t.add_step(5000);
  t.add_step();
  const StepSplit split = split_steps(t.graph, t.work, t.spans, t.steps, 100);
  REQUIRE(split.devices.size() == 2);
  CHECK(split.devices[0].compute_us == Approx(40));
  CHECK(split.devices[1].wait_data_us == Approx(20));
}

TEST_CASE("without launches nothing is said of devices") {
  const TwoDevices t;
  CHECK(split_steps(t.graph, t.work, {}, {}, 100).devices.empty());
}
