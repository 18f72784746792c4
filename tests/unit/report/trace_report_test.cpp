// A trace of several tasks: a process for each, whose lines say of which device they are.
#include "core/report/trace_report.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/json_document.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

TEST_CASE("trace: tasks are processes, and their devices are lines of them") {
  const PlacedGraph g(R"(
    {"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [2]}},
    {"name": "a", "op": "Neg", "input": ["x"]},
    {"name": "b", "op": "Abs", "input": ["a"]})");
  const DeviceSet devices = device_set(
      "/job:w/replica:0/task:0/device:CPU:0 /job:w/replica:0/task:0/device:GPU:0 /job:w/replica:0/task:1/device:CPU:0");
  const NodeId a = g.id("a"), b = g.id("b");
  const LaunchedWork make{{a}, 0, kNoDevice, kNoNode, 8}, copy{{a}, 1, 0, b, 8}, read{{b}, 1, kNoDevice, kNoNode, 8};
  const LaunchedWork there{{b}, 2, kNoDevice, kNoNode, 8};
  const std::vector<TraceSlice> slices = {{&make, 0, 0, 0, 10'000},
                                          {&copy, 0, 0, 15'000, 20'000},
                                          {&read, 0, 0, 30'000, 40'000},
                                          {&there, 1, 0, 50'000, 60'000}};
  TraceFacts facts;
  facts.graph = &g.file->graph;
  facts.devices = &devices;
  const auto trace = parse_json(trace_json(facts, slices), "trace");
  REQUIRE(trace.ok());

  std::set<std::string> processes, lines, counters;
  for (const auto& event : trace->at("traceEvents")) {
    const std::string name = event.at("name"), at = event.at("pid").dump() + " ";
    if (event.at("ph") == "C") counters.insert(at + name);
    if (event.at("ph") != "M") continue;
    (name == "process_name" ? processes : lines).insert(at + event.at("args").at("name").get<std::string>());
  }
  CHECK(processes == std::set<std::string>{"0 /job:w/replica:0/task:0", "1 /job:w/replica:0/task:1"});
  CHECK(lines == std::set<std::string>{"0 CPU:0 thread 1", "0 CPU:0 copies to /job:w/replica:0/task:0/device:GPU:0",
                                       "0 GPU:0 thread 1", "1 CPU:0 thread 2"});
  CHECK(counters.contains("0 GPU:0 bytes of live tensors"));
  CHECK(counters.contains("1 CPU:0 bytes of live tensors"));
}
