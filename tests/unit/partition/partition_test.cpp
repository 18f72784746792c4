#include <catch2/catch.hpp>

#include <ctime>

#include "core/partition/partition.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

Program cut(RunCase& g, const std::vector<Endpoint>& fetches) {
  auto program = partition(g.file, g.devices, g.placement, {fetches, {}, {}});
  REQUIRE(program.ok());
  return program.take();
}

Endpoint unary(RunCase& g, Endpoint x, DeviceId device, std::vector<NodeId> controls = {}) {
  return g.add({"Neg", {x}, {}, {DType::kFloat}, std::move(controls), {}, device});
}

const Instruction* copy_to(const Program& p, DeviceId home) {
  for (const Instruction& s : p.instructions) {
    if (s.kind == InstructionKind::kCopy && p.values[p.outputs(s)[0]].home == home) return &s;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("readers on one device share a copy, each device has its own") {
  RunCase g(2);
  Endpoint x = unary(g, g.constant(f32({2}, {1, 2})), 0);
  std::vector<Endpoint> readers = {unary(g, x, 1), unary(g, x, 1), unary(g, x, 2), unary(g, x, 0)};
  Program p = cut(g, readers);
  int to[3] = {};
  for (const Instruction& s : p.instructions) {
    if (s.kind == InstructionKind::kCopy && p.values[p.inputs(s)[0]].tensor == x) ++to[p.values[p.outputs(s)[0]].home];
  }
  CHECK(to[0] == 0);
  CHECK(to[1] == 1);
  CHECK(to[2] == 1);
}

TEST_CASE("after the cut every operand of an instruction lies on the instruction's device or in host memory") {
  RunCase g(2);
  Endpoint a = unary(g, g.constant(f32({2}, {1, 2}), 1), 1), b = unary(g, a, 2), c = unary(g, b, 0), d = unary(g, c, 1);
  Program p = cut(g, {d, b});
  for (const Instruction& s : p.instructions) {
    if (s.kind != InstructionKind::kNode) continue;
    for (ValueId v : p.inputs(s)) CHECK((p.values[v].home == s.device || p.values[v].home == p.host));
    for (ValueId v : p.outputs(s)) CHECK((p.values[v].home == s.device || p.values[v].home == p.host));
  }
  REQUIRE(copy_to(p, 2));
  // What comes from another GPU was made there.
  CHECK(p.values[p.inputs(*copy_to(p, 2))[0]].home == 1);
}

TEST_CASE("a control edge across devices orders the instructions without moving a tensor") {
  RunCase g(2);
  Endpoint first = unary(g, g.constant(f32({2}, {1, 2}), 1), 1);
  Endpoint second = unary(g, g.constant(f32({2}, {3, 4}), 2), 2, {first.node});
  Program p = cut(g, {second});
  InstructionId at_first = kNoInstruction, at_second = kNoInstruction;
  for (InstructionId id = 0; id < p.instructions.size(); ++id) {
    if (p.instructions[id].kind == InstructionKind::kNode && p.instructions[id].node == first.node) at_first = id;
    if (p.instructions[id].kind == InstructionKind::kNode && p.instructions[id].node == second.node) at_second = id;
  }
  REQUIRE(at_first != kNoInstruction);
  REQUIRE(at_second != kNoInstruction);
  CHECK(at_first < at_second);
  auto controls = p.controls_of(p.instructions[at_second]);
  CHECK(std::find(controls.begin(), controls.end(), at_first) != controls.end());
}

TEST_CASE("a request of many feeds is cut in a time that grows with their number") {
  RunCase g;
  std::vector<Endpoint> feeds;
  for (int i = 0; i < 50'000; ++i) feeds.push_back(g.constant(f32({}, {1})));
  const Endpoint sum = g.add({"AddN", feeds, {}, {DType::kFloat}});
  const std::clock_t begin = std::clock();
  auto program = partition(g.file, g.devices, g.placement, {{sum}, {}, feeds});
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  REQUIRE(program.ok());
  CHECK(program->feeds.size() == feeds.size());
  CHECK(program->instructions.size() == 1);
  CHECK(seconds < 1);  // a look through all feeds for each of them takes 5 s
}
