#include "core/plan/memory_plan.h"

#include <catch2/catch.hpp>

#include <random>

#include "core/partition/partition.h"
#include "core/plan/settle.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct Planned {
  Program program;
  Plan plan;
};

Planned plan_of(RunCase& g, const std::vector<Endpoint>& fetches, bool in_lanes = false) {
  auto program = partition(g.file, g.devices, g.placement, {fetches, {}, {}});
  REQUIRE(program.ok());
  auto plan = settle(g.file, g.devices, *program, {});
  REQUIRE(plan.ok());
  std::vector<uint8_t> lanes;
  for (InstructionId s = 0; in_lanes && s < program->instructions.size(); ++s)
    lanes.push_back(static_cast<uint8_t>(s % 3));
  plan_memory(g.file, *program, *plan, lanes);
  return {program.take(), plan.take()};
}

Tensor ones(int64_t n) { return f32({n}, std::vector<float>(static_cast<size_t>(n), 1.0f)); }

int64_t bytes(const Planned& p, ValueId v) { return p.plan.values[v].shape.num_elements() * 4; }

// No two buffers that are needed at the same time share a byte; an output may lie over an input that dies with it.
void check_no_overlap(const Planned& p) {
  const auto& values = p.plan.values;
  for (ValueId a = 0; a < values.size(); ++a) {
    if (values[a].storage != Storage::kBlock || values[a].buffer != a) continue;
    CHECK(values[a].offset + bytes(p, a) <= p.plan.devices[p.program.values[a].home].bytes);
    for (ValueId b = a + 1; b < values.size(); ++b) {
      if (values[b].storage != Storage::kBlock || values[b].buffer != b ||
          p.program.values[a].home != p.program.values[b].home)
        continue;
      bool apart =
          values[a].offset + bytes(p, a) <= values[b].offset || values[b].offset + bytes(p, b) <= values[a].offset;
      InstructionId born_a = p.program.values[a].producer, born_b = p.program.values[b].producer;
      bool together = std::max(born_a, born_b) < std::min(values[a].last_use, values[b].last_use);
      INFO("values " << a << " and " << b);
      CHECK((apart || !together));
    }
  }
}

}  // namespace

TEST_CASE("a chain of elementwise instructions writes over itself") {
  RunCase g;
  Endpoint x = g.constant(ones(1000));
  for (int i = 0; i < 10; ++i) x = g.add({"Neg", {x}, {}, {DType::kFloat}});
  Planned p = plan_of(g, {x});
  CHECK(p.plan.devices[0].bytes == 4032);  // 1000 floats in whole cache lines
}

TEST_CASE("buffers that are alive together never overlap, in one lane or several") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    RunCase g(1);
    std::vector<Endpoint> all = {g.constant(ones(64)), g.constant(ones(64), 1)};
    for (int i = 0; i < 30; ++i) {
      auto pick = [&] { return all[random() % all.size()]; };
      DeviceId device = random() % 2;
      switch (random() % 3) {
        case 0:
          all.push_back(g.add({"Neg", {pick()}, {}, {DType::kFloat}, {}, {}, device}));
          break;
        case 1:
          all.push_back(g.add({"Add", {pick(), pick()}, {}, {DType::kFloat}, {}, {}, device}));
          break;
        default:
          all.push_back(
              g.add({"Tile", {g.constant(ones(64)), g.constant(i32({1}, {1}))}, {}, {DType::kFloat}, {}, {}, device}));
      }
    }
    INFO("seed " << seed);
    for (bool in_lanes : {false, true}) check_no_overlap(plan_of(g, {all.back(), all[all.size() / 2]}, in_lanes));
  }
}

TEST_CASE("the peak names who was alive, the largest first") {
  RunCase g;
  Endpoint small = g.add({"Neg", {g.constant(ones(100))}, {}, {DType::kFloat}});
  Endpoint large = g.add({"Tile", {small, g.constant(i32({1}, {10}))}, {}, {DType::kFloat}});
  Planned p = plan_of(g, {small, large});
  const auto& live = p.plan.devices[0].live_at_peak;
  REQUIRE(live.size() == 2);
  CHECK(p.program.values[live[0].first].tensor == large);
  CHECK(live[0].second == 4032);
  CHECK(live[1].second == 448);
  CHECK(p.plan.devices[0].bytes == 4480);
}
