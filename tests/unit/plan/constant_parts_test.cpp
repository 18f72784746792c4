#include "core/plan/constant_parts.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "core/partition/partition.h"
#include "core/plan/settle.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("of what constants decide only what a step reads stays in memory") {
  RunCase g;
  const AttrValue type = AttrValue::of(DType::kFloat), shape = AttrValue::of(Shape{64, 64});
  const Endpoint x = g.add({"Placeholder", {}, {{"dtype", type}, {"shape", shape}}, {DType::kFloat}});
  const Endpoint w = g.constant(f32({4096}, std::vector<float>(4096, 2.0f)));
  const Endpoint half = g.add({"Neg", {w}, {}, {DType::kFloat}});
  const Endpoint square = g.add(
      {"Reshape", {half, g.constant(i32({2}, {64, 64}))}, {{"Tshape", AttrValue::of(DType::kInt32)}}, {DType::kFloat}});
  const Endpoint read = g.add({"Neg", {square}, {}, {DType::kFloat}});
  const Endpoint y = g.add({"AddV2", {x, read}, {}, {DType::kFloat}});
  auto program = partition(g.file, g.devices, g.placement, {{y}, {}, {x}});
  REQUIRE(program.ok());
  auto plan = settle(g.file, g.devices, *program, {f32({64, 64}, std::vector<float>(4096, 1.0f))});
  REQUIRE(plan.ok());
  CHECK(plan->worked_out.size() == 2);
  REQUIRE(plan->kept.size() == 1);
  const Tensor& kept = *plan->values[plan->kept[0]].known;
  CHECK(kept.data<float>()[4095] == 2.0f);
  // The feed, and this one.
  CHECK(std::count_if(plan->tensors.begin(), plan->tensors.end(), [](const Tensor& t) { return t.raw() != nullptr; }) ==
        2);
}
