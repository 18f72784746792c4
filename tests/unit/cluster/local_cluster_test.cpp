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

/// A loop that doubles a value on `body` until it is not less than `limit`, and counts on `count` how often.
std::string loop_text(const std::string& body, const std::string& count, const std::string& limit) {
  const std::string enter = R"({"frame_name": "loop"})";
  return cat(
      R"({"node": [)", one_node("x", "Const", "", on(1), R"({"value": 1.0})"), ",",
      one_node("zero", "Const", "", on(1), R"({"value": 0})"), ",", one_node("start", "Exp", R"("x")", on(1)), ",",
      one_node("enter", "Enter", R"("start")", on(0), enter), ",",
      one_node("merge", "Merge", R"("enter", "next")", on(0)), ",",
      one_node("limit", "Const", R"("^merge")", on(0), cat(R"({"value": )", limit, "}")), ",",
      one_node("less", "Less", R"("merge", "limit")", on(0)), ",", one_node("cond", "LoopCond", R"("less")", on(0)),
      ",", one_node("switch", "Switch", R"("merge", "cond")", on(0)), ",",
      one_node("exit", "Exit", R"("switch:0")", on(0)), ",",
      one_node("body", "AddV2", R"("switch:1", "switch:1")", body), ",",
      one_node("next", "NextIteration", R"("body")", on(0)), ",",
      one_node("enter_n", "Enter", R"("zero")", count, enter), ",",
      one_node("merge_n", "Merge", R"("enter_n", "next_n")", count), ",",
      one_node("switch_n", "Switch", R"("merge_n", "cond")", count), ",",
      one_node("n", "Identity", R"("switch_n:1")", count), ",",
      one_node("one", "Const", R"("^n")", count, R"({"value": 1})"), ",",
      one_node("more", "AddV2", R"("n", "one")", count), ",", one_node("next_n", "NextIteration", R"("more")", count),
      ",", one_node("counted", "Exit", R"("switch_n:0")", count), ",", one_node("y", "Neg", R"("exit")", on(1)), "]}");
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

TEST_CASE("tables live on their task, and are read and filled from outside") {
  const std::string types = R"({"key_dtype": "string", "value_dtype": "int64"})";
  ClusterCase c(cat(R"({"node": [)", one_node("t", "MutableHashTableV2", "", on(1), types), ",",
                    one_node("once", "HashTableV2", "", on(1), types), ",",
                    one_node("k", "Const", "", on(0), R"({"value": ["a", "b"]})"), ",",
                    one_node("v", "Const", "", on(0), R"({"value": {"dtype": "int64", "data": [7, 9]}})"), ",",
                    one_node("put", "LookupTableInsertV2", R"("t", "k", "v")", "\"\""), ",",
                    one_node("size", "LookupTableSizeV2", R"("t", "^put")", "\"\""), "]}"),
                "ps=1,worker=2");
  const auto session = c.session({"size"});
  const NodeId table = c.node("t");
  std::vector<Tensor> outputs;
  REQUIRE(session->step(outputs).ok());
  const auto held = session->table(table);
  REQUIRE(held.ok());
  REQUIRE(held->has_value());
  CHECK((*held)->keys.data<std::string>()[1] == "b");
  CHECK((*held)->values.data<int64_t>()[1] == 9);
  CHECK(!session->table(c.node("once"))->has_value());
  const std::vector<std::string> keys{"c"};
  const std::vector<int64_t> values{5};
  const Tensor key = Tensor::of<std::string>(Shape{1}, keys), value = Tensor::of<int64_t>(Shape{1}, values);
  REQUIRE(session->set_table(table, {key, value}).ok());
  CHECK((*session->table(table))->values.num_elements() == 1);
  CHECK(session->set_table(table, {value, value}).message() == "table 't' holds string and int64, not int64 and int64");
  CHECK(session->set_table(table, {key, Tensor::of<int64_t>(Shape{2}, std::vector<int64_t>{5, 6})}).code() ==
        Code::kInvalidArgument);
  CHECK(session->set_table(c.node("once"), {key, value}).code() == Code::kFailedPrecondition);
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

TEST_CASE("a loop takes its values from other tasks, and may have nodes on them") {
  for (int body = 0; body < 2; ++body) {
    for (int count = 0; count < 3; ++count) {
      ClusterCase c(loop_text(on(body), on(count), "100.0"), "worker=3");
      INFO("body on " << body << ", count on " << count);
      check_steps(c, {"y", "exit", "counted"}, 3);
    }
  }
}

TEST_CASE("a loop that is never entered ends on all its tasks") {
  ClusterCase c(loop_text(on(1), on(2), "0.0"), "worker=3");
  check_steps(c, {"y", "counted"}, 3);
}

TEST_CASE("loops inside loops run on several tasks, each as often as it should") {
  // for (i = 0; i < 3; ++i) for (j = 0, s = t; j < 4; ++j) s += x: additions on one task, counting on another.
  const auto frame = [](const char* name, bool constant = false) {
    return cat(R"({"frame_name": ")", name, R"(", "is_constant": )", constant ? "true" : "false", "}");
  };
  const std::string real = R"({"value": 0.5})", zero = R"({"value": 0})", one = R"({"value": 1})";
  for (int outer = 0; outer < 3; ++outer) {
    for (int inner = 0; inner < 3; ++inner) {
      const std::string a = on(outer), b = on(inner);
      std::string text = R"({"node": [)";
      const auto add = [&](const std::string& node) { append(text, text.ends_with('[') ? "" : ",", node); };
      add(one_node("x", "Const", "", on(1), real)), add(one_node("x2", "Exp", R"("x")", on(1)));
      add(one_node("zero", "Const", "", on(0), zero)), add(one_node("start", "Const", "", on(2), real));
      add(one_node("ei", "Enter", R"("zero")", on(0), frame("o")));
      add(one_node("et", "Enter", R"("start")", on(0), frame("o")));
      add(one_node("ex", "Enter", R"("x2")", on(1), frame("o", true)));
      add(one_node("mi", "Merge", R"("ei", "ni")", on(0))), add(one_node("mt", "Merge", R"("et", "nt")", a));
      add(one_node("li", "Const", R"("^mi")", on(0), R"({"value": 3})"));
      add(one_node("less", "Less", R"("mi", "li")", on(0))), add(one_node("cond", "LoopCond", R"("less")", on(0)));
      add(one_node("si", "Switch", R"("mi", "cond")", on(0))), add(one_node("st", "Switch", R"("mt", "cond")", a));
      add(one_node("ii", "Identity", R"("si:1")", on(0))), add(one_node("oi", "Const", R"("^ii")", on(0), one));
      add(one_node("ai", "AddV2", R"("ii", "oi")", on(0))), add(one_node("ni", "NextIteration", R"("ai")", on(0)));
      // The loop inside.
      add(one_node("jz", "Const", R"("^ii")", b, zero));
      add(one_node("ej", "Enter", R"("jz")", b, frame("p")));
      add(one_node("es", "Enter", R"("st:1")", a, frame("p")));
      add(one_node("ey", "Enter", R"("ex")", on(1), frame("p", true)));
      add(one_node("mj", "Merge", R"("ej", "nj")", b)), add(one_node("ms", "Merge", R"("es", "ns")", a));
      add(one_node("lj", "Const", R"("^mj")", b, R"({"value": 4})"));
      add(one_node("lessj", "Less", R"("mj", "lj")", b)), add(one_node("condj", "LoopCond", R"("lessj")", b));
      add(one_node("sj", "Switch", R"("mj", "condj")", b)), add(one_node("ss", "Switch", R"("ms", "condj")", a));
      add(one_node("ij", "Identity", R"("sj:1")", b)), add(one_node("oj", "Const", R"("^ij")", b, one));
      add(one_node("aj", "AddV2", R"("ij", "oj")", b)), add(one_node("nj", "NextIteration", R"("aj")", b));
      add(one_node("as", "AddV2", R"("ss:1", "ey")", on(2))), add(one_node("ns", "NextIteration", R"("as")", a));
      add(one_node("xs", "Exit", R"("ss:0")", a));
      add(one_node("nt", "NextIteration", R"("xs")", a)), add(one_node("xt", "Exit", R"("st:0")", a));
      add(one_node("y", "Neg", R"("xt")", on(2)));
      ClusterCase c(text + "]}", "worker=3");
      INFO("outer on " << outer << ", inner on " << inner);
      check_steps(c, {"y", "xt"}, 2);
    }
  }
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
