#include "core/plan/undone_transposes.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include "core/partition/partition.h"
#include "core/plan/memory_plan.h"
#include "core/plan/settle.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// Of 24 numbers from 0 down.
Endpoint images(RunCase& g) {
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return g.add({"Neg", {g.constant(f32({1, 2, 3, 4}, numbers))}, {}, {DType::kFloat}});
}

Endpoint turned(RunCase& g, Endpoint x, const std::vector<int32_t>& order) {
  const Endpoint perm = g.constant(Tensor::of<int32_t>(Shape{static_cast<int64_t>(order.size())}, order));
  return g.add({"Transpose", {x, perm}, {}, {DType::kFloat}});
}

struct Shared {
  std::vector<LeftOut> gone;
  Program program;
  Plan plan;

  /// Of the value that a node makes.
  const ValuePlan& of(Endpoint e) const {
    for (ValueId v = 0; v < program.values.size(); ++v) {
      if (program.values[v].tensor == e) return plan.values[v];
    }
    FAIL("no such value");
    return plan.values[0];
  }
};

Shared shared(RunCase& g, const std::vector<Endpoint>& fetches) {
  auto program = partition(g.file, g.devices, g.placement, {fetches, {}, {}});
  REQUIRE(program.ok());
  auto plan = settle(g.file, g.devices, *program, {});
  REQUIRE(plan.ok());
  Shared out{{}, program.take(), plan.take()};
  out.gone = share_undone(g.file.graph, out.program, out.plan);
  plan_memory(g.file, out.program, out.plan);
  return out;
}

const std::vector<int32_t> kLast{0, 2, 3, 1}, kFirst{0, 3, 1, 2};

}  // namespace

TEST_CASE("two Transposes that undo each other are not launched") {
  RunCase g;
  const Endpoint x = images(g), there = turned(g, x, kLast), back = turned(g, there, {0, -1, 1, 2});
  const Endpoint y = g.add({"Neg", {back}, {}, {DType::kFloat}});
  const Shared s = shared(g, {y});
  REQUIRE(s.gone.size() == 2);
  CHECK(s.gone[0].node == there.node);
  CHECK(s.gone[0].undoes == back.node);
  CHECK(s.gone[1].node == back.node);
  CHECK(s.gone[1].undoes == there.node);
  CHECK(s.of(back).buffer == s.of(x).buffer);
  CHECK(s.plan.devices[0].bytes == 128);  // y lies over x
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  CHECK(floats(*g.fetch(y)) == numbers);
}

TEST_CASE("what somebody else reads of a Transpose that is undone is made") {
  RunCase g;
  const Endpoint x = images(g), there = turned(g, x, kLast), back = turned(g, there, kFirst);
  const Endpoint y = g.add({"Neg", {back}, {}, {DType::kFloat}});
  const Shared s = shared(g, {y, there});
  CHECK(s.gone.size() == 1);
  CHECK(s.of(back).buffer == s.of(x).buffer);
  CHECK(s.of(there).buffer != s.of(x).buffer);
}

TEST_CASE("Transposes that follow each other without undoing each other stay") {
  RunCase g;
  const Endpoint x = images(g), y = turned(g, turned(g, x, kLast), kLast);
  CHECK(shared(g, {y}).gone.empty());
}

TEST_CASE("a row of Transposes and what shares the bytes of one of them lies where the first one reads") {
  RunCase g;
  Endpoint x = images(g), e = x;
  for (int i = 0; i < 3; ++i) e = turned(g, turned(g, e, kLast), kFirst);
  const Endpoint flat = g.add({"Reshape", {e, g.constant(i32({1}, {-1}))}, {}, {DType::kFloat}});
  const Endpoint y = g.add({"Neg", {turned(g, turned(g, e, kLast), kFirst)}, {}, {DType::kFloat}});
  const Shared s = shared(g, {g.add({"Neg", {flat}, {}, {DType::kFloat}}), y});
  CHECK(s.gone.size() == 8);
  CHECK(s.of(flat).buffer == s.of(x).buffer);
}
