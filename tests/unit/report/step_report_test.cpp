// Where the time of steps went, of slices on two tasks.
#include <catch2/catch.hpp>

#include "core/graph/graph_file.h"
#include "core/report/step_report.h"
#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;

TEST_CASE("a step's time is what tasks compute, copy, send, wait and nothing of it, each moment once") {
  const DeviceSet devices = testing::cluster_devices({{"w", 2}}, 1, 0, "/job:w/replica:0/task:0");
  LaunchedWork here, there, send, wait;
  here.nodes = there.nodes = send.nodes = wait.nodes = {0};
  here.device = 0, there.device = 1;
  send.from = 1, send.device = 0, send.peer = 0;
  wait.device = 0, wait.from = 1, wait.peer = 1, wait.receives = true;
  const auto us = [](int64_t n) { return n * 1000; };
  const std::vector<TraceSlice> slices = {
      {&here, 0, -1, 0, us(900)},                                            // before the first step
      {&here, 0, 0, us(1000), us(1010)}, {&here, 1, 0, us(1005), us(1020)},  // two threads
      {&wait, 0, 0, us(1020), us(1050)}, {&there, 9, 0, us(1000), us(1040)},
      {&send, 9, 0, us(1040), us(1045)}, {&here, 0, 0, us(1050), us(1060)},
  };
  const StepReport report = step_report(Graph(), devices, slices);
  CHECK(report.steps == 1);
  CHECK(report.step_us == Approx(60));
  REQUIRE(report.tasks.size() == 2);
  const TaskTimes &a = report.tasks[0], &b = report.tasks[1];
  CHECK(a.compute_us == Approx(30));
  CHECK(a.wait_us == Approx(25));  // until it was sent
  CHECK(a.receive_us == Approx(5));
  CHECK(a.other_us == Approx(0).margin(1e-9));
  CHECK(a.waits_for == "/job:w/replica:0/task:1");
  CHECK(b.compute_us == Approx(40));
  CHECK(b.send_us == Approx(5));
  CHECK(b.other_us == Approx(15));
  CHECK(b.waits_for.empty());
  CHECK(report.slowest == "/job:w/replica:0/task:1");
}

TEST_CASE("a step report says what of receiving was waiting, and how much of an all-reduce computing hid") {
  Problems problems;
  const auto file = load(Source::from_text("g", R"({"node": [
      {"name": "g", "op": "Const", "attr": {"value": 1}},
      {"name": "mean", "op": "Identity", "input": ["g"], "attr": {"_reduce_bucket": {"i": 0}}}]})"),
                         {}, problems);
  validate(*file, problems);
  REQUIRE(problems.empty());
  const DeviceSet devices = testing::cluster_devices({{"w", 2}}, 1, 0, "/job:w/replica:0/task:0");
  LaunchedWork here, there, sent, received;
  here.nodes = there.nodes = {5};
  here.device = 0, there.device = 1;
  sent.nodes = {file->graph.find("g")}, sent.from = 1, sent.device = 0, sent.peer = 0, sent.transfer = 3;
  received.nodes = sent.nodes, received.device = 0, received.from = 1, received.peer = 1, received.transfer = 3;
  received.receives = true;
  const auto us = [](int64_t n) { return n * 1000; };
  const std::vector<TraceSlice> slices = {
      {&here, 0, 0, us(0), us(20)},      {&there, 9, 0, us(0), us(30)},  {&sent, 9, 0, us(30), us(35)},
      {&received, 0, 0, us(20), us(42)}, {&there, 9, 0, us(35), us(50)},
  };
  const StepReport report = step_report(file->graph, devices, slices);
  const TaskTimes &a = report.tasks[0], &b = report.tasks[1];
  CHECK(a.wait_us == Approx(15));
  CHECK(a.receive_us == Approx(7));
  CHECK(a.all_reduce_us == Approx(0).margin(1e-9));  // it was there when the task stopped waiting
  CHECK(b.all_reduce_us == Approx(5));
  CHECK(b.all_reduce_hidden_us == Approx(0).margin(1e-9));
}
