// Steps of several tasks in one process: what they compute is what one process computes, bit for bit, whatever the
// network does.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/base/cat.h"
#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

const NetworkFaults kBadNetwork{.seed = 3, .lost = 0.2, .doubled = 0.2, .delay_us = 300};

std::string on(int worker) { return cat("\"/job:worker/task:", worker, "\""); }

/// Steps of the cluster, with a good and a bad network, against steps of one process.
void check_steps(ClusterCase& c, const std::vector<std::string>& fetches, int steps = 2) {
  for (const NetworkFaults& faults : {NetworkFaults{}, kBadNetwork}) {
    const auto cluster = c.session(fetches, faults), alone = c.alone(fetches);
    for (int step = 0; step < steps; ++step) {
      std::vector<Tensor> found, wanted;
      const Status status = cluster->step(found);
      INFO("step " << step << ", " << (faults.any() ? "bad" : "good") << " network: " << status.message());
      const Status wanted_status = alone->step(wanted);
      REQUIRE(status.code() == wanted_status.code());
      if (!status.ok()) {
        CHECK(status.message().ends_with(cat(":\n", wanted_status.message())));
        continue;
      }
      REQUIRE(found.size() == wanted.size());
      for (size_t i = 0; i < found.size(); ++i) {
        INFO(fetches[i]);
        CHECK(same(found[i], wanted[i]));
      }
    }
  }
}

}  // namespace

TEST_CASE("values go from task to task and results to the master; constants are made where they are read") {
  ClusterCase c(cat(R"({"node": [)", one_node("a", "Const", "", on(1), R"({"value": [[1, 2], [3, 4]]})"), ",",
                    one_node("b", "MatMul", R"("a", "a")", on(1)), ",", one_node("c", "Square", R"("b")", on(0)), ",",
                    one_node("d", "AddV2", R"("c", "a")", on(2)), ",", one_node("e", "Neg", R"("d")", on(1)), "]}"),
                "ps=1,worker=3");
  check_steps(c, {"e", "c", "a", "d"});
  const auto session = c.session({"e"});
  std::vector<Tensor> outputs;
  REQUIRE(session->step(outputs).ok());
  CHECK(session->copies_per_step() == 4);  // b to worker 0, c to worker 2, d to worker 1, e to the master
  CHECK(session->copy_bytes_per_step() == 4 * 16);
  CHECK(session->memory().size() == 4);
}

TEST_CASE("control edges between tasks hold, and variables live on their task") {
  ClusterCase c(
      cat(R"({"node": [)",
          one_node("v", "VariableV2", "", "\"/job:ps/task:0\"", R"({"dtype": "float32", "shape": [2]})"), ",",
          one_node("first", "Const", "", on(0), R"({"value": [1, 2]})"), ",",
          one_node("init", "Assign", R"("v", "first")", "\"\""), ",",
          one_node("g", "Const", "", on(1), R"({"value": [0.5, 0.25]})"), ",",
          one_node("twice", "AddV2", R"("g", "g")", on(1)), ",", one_node("up", "AssignAdd", R"("v", "twice")", "\"\""),
          ",", one_node("read", "Identity", R"("v", "^up")", on(0)), ",",
          one_node("after", "Square", R"("twice", "^read")", on(1)), "]}"),
      "ps=1,worker=2");
  for (const NetworkFaults& faults : {NetworkFaults{}, kBadNetwork}) {
    const auto session = c.session({"read", "after"}, faults);
    std::vector<Tensor> outputs;
    const Status early = session->step(outputs);
    CHECK(early.code() == Code::kFailedPrecondition);
    CHECK(early.message().starts_with("From /job:ps/replica:0/task:0:\n"));
    REQUIRE(session->run_nodes({c.node("init")}).ok());
    for (int step = 1; step <= 3; ++step) {
      REQUIRE(session->step(outputs).ok());
      CHECK(outputs[0].data<float>()[0] == 1.0f + static_cast<float>(step));
      CHECK(outputs[0].data<float>()[1] == 2.0f + 0.5f * static_cast<float>(step));
    }
    CHECK(session->variable(c.node("v"))->data<float>()[0] == 4.0f);
    const std::vector<float> set{7, 8};
    REQUIRE(session->set_variable(c.node("v"), Tensor::of<float>(Shape{2}, set)).ok());
    REQUIRE(session->step(outputs).ok());
    CHECK(outputs[0].data<float>()[1] == 8.5f);
  }
}

TEST_CASE("dead tensors cross as dead ones, also along control edges") {
  for (const char* taken : {"true", "false"}) {
    ClusterCase c(
        cat(R"({"node": [)", one_node("p", "Const", "", on(1), cat(R"({"value": )", taken, "}")), ",",
            one_node("q", "Identity", R"("p")", on(1)), ",",
            one_node("x", "Const", "", on(0), R"({"value": [1, 2, 3]})"), ",",
            one_node("s", "Switch", R"("x", "q")", on(0)), ",", one_node("f", "Neg", R"("s:0")", on(1)), ",",
            one_node("t", "Square", R"("s:1")", on(2)), ",", one_node("late", "Identity", R"("x", "^t")", on(0)), ",",
            one_node("m", "Merge", R"("f", "t")", on(1)), ",", one_node("n", "Merge", R"("f", "late")", on(2)), "]}"),
        "ps=1,worker=3");
    check_steps(c, {"m:0", "m:1", "n:0", "n:1"});
    const auto session = c.session({"f"});
    std::vector<Tensor> outputs;
    const Status dead = session->step(outputs);
    CHECK(dead.ok() == (std::string(taken) == "false"));
  }
}

TEST_CASE("the first failure is the only one told, with its task and node; the next step is a new one") {
  for (const NetworkFaults& faults : {NetworkFaults{}, kBadNetwork}) {
    ClusterCase c(
        cat(R"({"node": [)", one_node("x", "Placeholder", "", on(0), R"({"dtype": "int32", "shape": [2]})"), ",",
            one_node("n", "Neg", R"("x")", on(1)), ",",
            one_node("seven", "Const", "", on(1), R"({"value": {"dtype": "int32", "shape": [2], "data": [7, 8]}})"),
            ",", one_node("bad", "FloorDiv", R"("seven", "n")", on(1)), ",", one_node("far", "Neg", R"("bad")", on(2)),
            ",", one_node("y", "Neg", R"("far")", on(0)), "]}"),
        "worker=3");
    const auto session = c.session({}, faults);
    const int step = session->add_step({{c.tensor("y")}, {}, {c.tensor("x")}, {}});
    const auto run = [&](std::vector<int32_t> x, std::vector<Tensor>& outputs) {
      return session->run_step(step, {Tensor::of<int32_t>(Shape{2}, x)}, outputs);
    };
    std::vector<Tensor> outputs;
    REQUIRE(run({1, 2}, outputs).ok());
    CHECK(outputs[0].data<int32_t>()[1] == -4);
    for (int i = 0; i < 3; ++i) {
      const Status status = run({1, 0}, outputs);
      CHECK(status.message() == "From /job:worker/replica:0/task:1:\nInteger division by zero\n\t [[{{node bad}}]]");
      CHECK(status.code() == Code::kInvalidArgument);
      CHECK(status.node() == "bad");
      REQUIRE(run({7, 8}, outputs).ok());
      CHECK(outputs[0].data<int32_t>()[0] == -1);
    }
  }
}

TEST_CASE("a loop on one task takes its values from others; a loop on several is refused") {
  const auto loop = [](const std::string& body_device) {
    const std::string enter = R"({"frame_name": "loop"})";
    return cat(
        R"({"node": [)", one_node("x", "Const", "", on(1), R"({"value": 1.0})"), ",",
        one_node("start", "Exp", R"("x")", on(1)), ",", one_node("enter", "Enter", R"("start")", on(0), enter), ",",
        one_node("merge", "Merge", R"("enter", "next")", on(0)), ",",
        one_node("limit", "Const", R"("^merge")", on(0), R"({"value": 100.0})"), ",",
        one_node("less", "Less", R"("merge", "limit")", on(0)), ",", one_node("cond", "LoopCond", R"("less")", on(0)),
        ",", one_node("switch", "Switch", R"("merge", "cond")", on(0)), ",",
        one_node("exit", "Exit", R"("switch:0")", on(0)), ",",
        one_node("body", "AddV2", R"("switch:1", "switch:1")", body_device), ",",
        one_node("next", "NextIteration", R"("body")", on(0)), ",", one_node("y", "Neg", R"("exit")", on(1)), "]}");
  };
  ClusterCase here(loop(on(0)), "worker=2");
  check_steps(here, {"y", "exit"});
  ClusterCase there(loop(on(1)), "worker=2");
  const auto refused = there.try_session({"y"});
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == Code::kUnimplemented);
  CHECK(refused.status().message().find("runs on /job:worker/replica:0/task:0 and on /job:worker/replica:0/task:1, "
                                        "where 'body' is; a loop has to be on one task") != std::string::npos);
}

TEST_CASE("an interrupted step ends on all tasks") {
  std::atomic<bool> stop = false;
  const std::string slow = R"({"frame_name": "loop"})";
  ClusterCase c(
      cat(R"({"node": [)", one_node("x", "Const", "", on(1), R"({"value": 1.0})"), ",",
          one_node("enter", "Enter", R"("x")", on(1), slow), ",",
          one_node("merge", "Merge", R"("enter", "next")", on(1)), ",",
          one_node("zero", "Const", R"("^merge")", on(1), R"({"value": 0.0})"), ",",
          one_node("less", "Less", R"("zero", "merge")", on(1)), ",", one_node("cond", "LoopCond", R"("less")", on(1)),
          ",", one_node("switch", "Switch", R"("merge", "cond")", on(1)), ",",
          one_node("exit", "Exit", R"("switch:0")", on(1)), ",",
          one_node("next", "NextIteration", R"("switch:1")", on(1)), ",", one_node("y", "Neg", R"("exit")", on(0)),
          "]}"),
      "worker=2");
  c.base.stop = &stop;
  const auto session = c.session({"y"});
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop = true;
  });
  std::vector<Tensor> outputs;
  const Status status = session->step(outputs);
  other.join();
  CHECK(status.code() == Code::kCancelled);
  CHECK(status.message() == "the run was interrupted");
}

TEST_CASE("random graphs on random clusters give the bytes of one process") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const int workers = 1 + static_cast<int>(seed % 4), gpus = seed % 3 == 0 ? 2 : 0;
    INFO("seed " << seed << ", " << workers << " workers, " << gpus << " GPUs each");
    const RandomGraph graph = random_graph(seed, workers, gpus);
    ClusterCase c(graph.text, cat("ps=1,worker=", workers), 1, gpus);
    check_steps(c, graph.fetches);
  }
}
