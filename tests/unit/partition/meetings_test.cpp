// Collective ops in a program: side by side, all of them, or an error.
#include <catch2/catch.hpp>

#include "core/partition/partition.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

Endpoint reduce(RunCase& g, Endpoint x, DeviceId device, const char* name, int64_t members = 2) {
  return g.add({"NcclAllReduce",
                {x},
                {{"reduction", AttrValue::of(std::string("sum"))},
                 {"num_devices", AttrValue::of(members)},
                 {"shared_name", AttrValue::of(std::string(name))}},
                {DType::kFloat},
                {},
                {},
                device});
}
Endpoint negated(RunCase& g, Endpoint x, DeviceId device) {
  return g.add({"Neg", {x}, {}, {DType::kFloat}, {}, {}, device});
}

Result<Program> cut_across(RunCase& g, std::vector<Endpoint> fetches) {
  return partition(g.file, g.devices, g.placement, {std::move(fetches), {}, {}});
}

InstructionId step_of(const Program& p, Endpoint e) {
  for (InstructionId id = 0; id < p.instructions.size(); ++id) {
    if (p.instructions[id].kind == InstructionKind::kNode && p.instructions[id].node == e.node) return id;
  }
  return kNoInstruction;
}

}  // namespace

TEST_CASE("the members of a collective run one after the other, their readers behind the last") {
  RunCase g(2);
  Endpoint x = g.constant(f32({2}, {1, 2}));
  Endpoint a0 = reduce(g, negated(g, x, 1), 1, "a");
  Endpoint reader = negated(g, a0, 1);  // stands before a1 in the graph
  Endpoint b1 = reduce(g, negated(g, x, 2), 2, "b");
  Endpoint a1 = reduce(g, negated(g, x, 2), 2, "a");
  Endpoint b0 = reduce(g, reader, 1, "b");
  Result<Program> cut_program = cut_across(g, {b0, b1, a1});
  REQUIRE(cut_program.status().message() == "");
  const Program& p = *cut_program;
  CHECK(step_of(p, a1) == step_of(p, a0) + 1);
  CHECK(step_of(p, reader) > step_of(p, a1));
  CHECK(step_of(p, b0) == step_of(p, b1) + 1);
  CHECK(step_of(p, b0) > step_of(p, reader));
}

TEST_CASE("a member that a step leaves out is an error, before anything waits for it") {
  RunCase g(2);
  Endpoint x = g.constant(f32({2}, {1, 2}));
  Endpoint a0 = reduce(g, negated(g, x, 1), 1, "a");
  (void)reduce(g, negated(g, x, 2), 2, "a");
  Status refused = cut_across(g, {a0}).status();
  CHECK(refused.code() == Code::kInvalidArgument);
  CHECK(refused.message() == "collective 'a' (node 'n2'): a step runs 1 of its nodes, but num_devices is 2");
}

TEST_CASE("members that wait for each other's results are an error") {
  RunCase g(2);
  Endpoint x = g.constant(f32({2}, {1, 2}));
  Endpoint a0 = reduce(g, negated(g, x, 1), 1, "a");
  Endpoint a1 = reduce(g, negated(g, a0, 2), 2, "a");
  CHECK(cut_across(g, {a1}).status().code() == Code::kUnimplemented);
}
