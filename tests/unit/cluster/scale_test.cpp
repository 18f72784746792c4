// Many tasks in one process: what a step costs for each, with n tasks and with four times as many.
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <utility>

#include "core/base/cat.h"
#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// A value through all workers and back to the first, each of which has four nodes.
std::string ring(int workers) {
  std::string nodes = one_node("x0", "Const", "", "\"/job:worker/task:0\"", R"({"value": [1.0, 2.0]})");
  int number = 0;
  for (int task = 0; task <= workers; ++task) {
    for (int i = 0; i < 4; ++i, ++number) {
      append(nodes, ",",
             one_node(cat("x", number + 1), "Neg", cat("\"x", number, "\""),
                      cat("\"/job:worker/task:", task % workers, "\"")));
    }
  }
  return cat(R"({"node": [)", nodes, "]}");
}

double processor_seconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Cost {
  double place_s = 0, create_s = 0, step_s = 0;  // of the processor; a step: the least of several
};

Cost cost_of(int workers) {
  Cost cost;
  double start = processor_seconds();
  const auto lap = [&] { return processor_seconds() - std::exchange(start, processor_seconds()); };
  ClusterCase c(ring(workers), cat("worker=", workers), 9);
  cost.place_s = lap();
  const std::string last = cat("x", 4 * (workers + 1));
  const auto session = c.session({last});
  cost.create_s = lap();
  std::vector<Tensor> outputs;
  cost.step_s = 1e9;
  for (int i = 0; i < 5; ++i) {
    lap();
    REQUIRE(session->step(outputs).ok());
    cost.step_s = std::min(cost.step_s, lap());
  }
  CHECK(outputs[0].flat<float>()[1] == 2.0F);
  return cost;
}

}  // namespace

TEST_CASE("a step's cost grows no faster than its tasks") {
  const Cost few = cost_of(30), many = cost_of(120);
  INFO("30 tasks " << few.step_s << " s, 120 tasks " << many.step_s << " s");
  CHECK(many.step_s < 4 * 2 * few.step_s + 2e-3);
}

TEST_CASE("making the sessions of a thousand tasks in one process costs little more for each than those of 250") {
  const auto least = [](int workers) {
    return std::min({cost_of(workers).create_s, cost_of(workers).create_s, cost_of(workers).create_s});
  };
  const double few = least(250), many = least(1000);
  INFO("250 tasks " << few << " s, 1000 tasks " << many << " s");
  CHECK(many < 4 * 2.5 * few);  // 25 times, when each task cut the whole program
}

// EMPLACE_TEST_TASKS=1000 emplace_unit 'many tasks by hand'
TEST_CASE("many tasks by hand", "[.]") {
  const char* tasks = std::getenv("EMPLACE_TEST_TASKS");
  const int most = tasks ? std::atoi(tasks) : 1000;
  for (const int workers : {most / 4, most}) {
    const Cost cost = cost_of(workers);
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    WARN(workers << " tasks: place " << cost.place_s << " s, create " << cost.create_s << " s, step " << cost.step_s
                 << " s of the processor; peak " << used.ru_maxrss / 1024 << " MiB");
  }
}
