// What a trace counts, on a step made by hand: 'a' on the CPU is copied to the GPU, where 'b' reads it.
#include "core/report/trace_counters.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "tests/unit/place/place_fixture.h"

using namespace emplace;

TEST_CASE("trace counters: tensors live from their maker's start to their last reader's end") {
  PlacedGraph g(R"(
    {"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [2]}},
    {"name": "a", "op": "Neg", "input": ["x"], "device": "/cpu:0"},
    {"name": "b", "op": "Abs", "input": ["a"], "device": "/gpu:0"})");
  const NodeId a = g.file->graph.find("a"), b = g.file->graph.find("b");
  const DeviceId cpu = 0, gpu = 1;
  const LaunchedWork make{{a}, cpu, kNoDevice, kNoNode, 8, false};
  const LaunchedWork copy{{a}, gpu, cpu, b, 8, false};
  const LaunchedWork read{{b}, gpu, kNoDevice, kNoNode, 8, false};
  const std::vector<TraceSlice> slices = {
      {&make, 0, 0, 0, 10'000}, {&copy, 0, 0, 15'000, 20'000}, {&read, 0, 0, 30'000, 40'000}};

  std::map<std::pair<DeviceId, TraceCount::What>, std::vector<std::pair<int64_t, int64_t>>> seen;  // us, value
  for (const TraceCount& count : counts_of(g.file->graph, slices))
    seen[{count.process, count.what}].emplace_back(count.ns / 1000, count.value);

  using Values = std::vector<std::pair<int64_t, int64_t>>;
  using What = TraceCount::What;
  CHECK(seen.size() == 4);
  CHECK(seen[{cpu, What::kLive}] == Values{{0, 8}, {20, 0}});
  CHECK(seen[{cpu, What::kUnderWay}] == Values{{15, 8}, {20, 0}});
  CHECK(seen[{gpu, What::kLive}] == Values{{15, 8}, {30, 16}, {40, 0}});
  CHECK(seen[{gpu, What::kReady}] == Values{{20, 1}, {30, 0}});
}
