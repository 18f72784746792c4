#include <catch2/catch.hpp>

#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {
Endpoint binary(RunCase& g, const char* op, Endpoint a, Endpoint b, DeviceId d = 0, DType t = DType::kFloat) {
  return g.add({op, {a, b}, {}, {t}, {}, {}, d});
}
std::vector<float> result(RunCase& g, Endpoint e) {
  auto r = g.fetch(e);
  INFO(r.status().message());
  REQUIRE(r.ok());
  return floats(*r);
}
}  // namespace

TEST_CASE("a chain of settled ops runs in its block, step after step") {
  RunCase g;
  Endpoint a = g.constant(f32({2, 3}, {1, 2, 3, 4, 5, 6})), b = g.constant(f32({3, 2}, {1, 2, 3, 4, 5, 6}));
  Endpoint c = g.add({"MatMul", {a, b}, {}, {DType::kFloat}});
  Endpoint d = binary(g, "Add", c, c);
  auto out = g.fetch_all({c, d}, {}, 3);
  INFO(out.status().message());
  REQUIRE(out.ok());
  CHECK(floats((*out)[0]) == std::vector<float>{22, 28, 49, 64});
  CHECK(floats((*out)[1]) == std::vector<float>{44, 56, 98, 128});
}

TEST_CASE("values cross to simulated GPUs as copies, and are counted") {
  RunCase g(2);
  Endpoint a = g.constant(f32({2}, {1, 2}), 1), b = g.constant(f32({2}, {10, 20}), 2);
  Endpoint twice = binary(g, "Add", a, a, 1), sum = binary(g, "Add", twice, b, 2),
           other = binary(g, "Sub", twice, b, 2);
  Endpoint all = binary(g, "Mul", sum, other, 0);
  SessionOptions o;
  o.fetches = {all};
  auto s = g.session(o);
  REQUIRE(s.ok());
  std::vector<Tensor> out;
  REQUIRE((*s)->step(out).ok());
  CHECK(floats(out[0]) == std::vector<float>{-96, -384});
  CHECK((*s)->copies_per_step() == 3);  // twice to GPU:1 once, sum and other to the CPU
  CHECK((*s)->copy_bytes_per_step() == 3 * 8);
}

TEST_CASE("a fed tensor replaces what would compute it") {
  RunCase g;
  Endpoint x = g.add({"Placeholder",
                      {},
                      {{"dtype", AttrValue::of(DType::kFloat)}, {"shape", AttrValue::of(Shape{2})}},
                      {DType::kFloat}});
  Endpoint y = binary(g, "Mul", x, x);
  auto unfed = g.fetch(y);
  REQUIRE_FALSE(unfed.ok());
  CHECK(unfed.status().code() == Code::kInvalidArgument);
  CHECK(unfed.status().message() ==
        "You must feed a value for placeholder tensor 'n0' with dtype float and shape [2]\n\t [[{{node n0}}]]");
  SessionOptions o;
  o.feeds = {{x, f32({2}, {3, 4})}};
  auto fed = g.fetch_all({y, x}, o);
  REQUIRE(fed.ok());
  CHECK(floats((*fed)[0]) == std::vector<float>{9, 16});
  CHECK(floats((*fed)[1]) == std::vector<float>{3, 4});
}

TEST_CASE("reference variables persist over steps and must be initialised") {
  for (int gpus : {0, 1}) {
    RunCase g(gpus);
    auto dev = static_cast<DeviceId>(gpus);
    DType ref = make_ref(DType::kFloat);
    Endpoint v = g.add({"VariableV2",
                        {},
                        {{"dtype", AttrValue::of(DType::kFloat)}, {"shape", AttrValue::of(Shape{2})}},
                        {ref},
                        {},
                        {},
                        dev});
    Endpoint one = g.constant(f32({2}, {1, 2}), dev);
    Endpoint assign =
        g.add({"Assign", {v, one}, {{"T", AttrValue::of(DType::kFloat)}}, {ref}, {}, {ref, DType::kFloat}, dev});
    Endpoint add =
        g.add({"AssignAdd", {v, one}, {{"T", AttrValue::of(DType::kFloat)}}, {ref}, {}, {ref, DType::kFloat}, dev});
    Endpoint read = g.add({"Identity", {v}, {}, {DType::kFloat}, {}, {}, dev});
    Endpoint far = binary(g, "Add", v, one, 0);
    auto unset = g.fetch(read);
    REQUIRE_FALSE(unset.ok());
    CHECK(unset.status().message() == "Attempting to use uninitialized value n0\n\t [[{{node n4}}]]");
    SessionOptions o;
    o.fetches = {read, far};
    o.targets = {add.node};
    auto s = g.session(o);
    REQUIRE(s.ok());
    REQUIRE((*s)->run_nodes({assign.node}).ok());
    std::vector<Tensor> out;
    for (int i = 0; i < 3; ++i) REQUIRE((*s)->step(out).ok());
    CHECK(floats(out[0]) == std::vector<float>{4, 8});  // node order: read after the third addition
    CHECK(floats(out[1]) == std::vector<float>{5, 10});
  }
}

TEST_CASE("what a Switch does not choose is dead, and so is all that needs it") {
  for (bool pred : {false, true}) {
    RunCase g;
    Endpoint x = g.constant(f32({2}, {1, 2}));
    Endpoint p = g.constant(Tensor::scalar<bool>(pred));
    Endpoint s = g.add({"Switch", {x, p}, {}, {DType::kFloat, DType::kFloat}});
    Endpoint no = binary(g, "Add", {s.node, 0}, x), yes = binary(g, "Mul", {s.node, 1}, {s.node, 1});
    Endpoint m = g.add({"Merge", {no, yes}, {{"N", AttrValue::of(int64_t{2})}}, {DType::kFloat, DType::kInt32}});
    CHECK(result(g, m) == (pred ? std::vector<float>{1, 4} : std::vector<float>{2, 4}));
    auto dead = g.fetch(pred ? no : yes);
    REQUIRE_FALSE(dead.ok());
    CHECK(dead.status().code() == Code::kInvalidArgument);
    CHECK(dead.status().message() == "Retval[0] does not have value");
  }
}

TEST_CASE("a while loop runs until its condition is false") {
  RunCase g;
  auto frame = [](bool constant) {
    return std::vector<std::pair<std::string, AttrValue>>{{"frame_name", AttrValue::of(std::string("loop"))},
                                                          {"is_constant", AttrValue::of(constant)}};
  };
  DType f = DType::kFloat;
  Endpoint zero = g.constant(f32({}, {0})), limit = g.constant(f32({}, {-5})), one = g.constant(f32({}, {1}));
  Endpoint enter = g.add({"Enter", {zero}, frame(false), {f}});
  Endpoint bound = g.add({"Enter", {limit}, frame(true), {f}}), step = g.add({"Enter", {one}, frame(true), {f}});
  Endpoint merge = g.add({"Merge", {enter, enter}, {{"N", AttrValue::of(int64_t{2})}}, {f, DType::kInt32}});
  // Goes on while x is not yet -5: max(x, -5) > -5 needs a comparison; Cast-free here: x != limit.
  Endpoint cond = g.add({"NotEqual", {merge, bound}, {}, {DType::kBool}});
  Endpoint loop_cond = g.add({"LoopCond", {cond}, {}, {DType::kBool}});
  Endpoint sw = g.add({"Switch", {merge, loop_cond}, {}, {f, f}});
  Endpoint exit = g.add({"Exit", {{sw.node, 0}}, {}, {f}});
  Endpoint next_value = binary(g, "Sub", {sw.node, 1}, step);
  Endpoint next = g.add({"NextIteration", {next_value}, {}, {f}});
  g.rewire(merge.node, 1, next);
  Endpoint after = binary(g, "Mul", exit, exit);
  if (!OpLibrary::find("NotEqual")) return;
  CHECK(result(g, after) == std::vector<float>{25});
}

TEST_CASE("ops that cannot be run are all named") {
  RunCase g;
  Endpoint a = g.constant(f32({2, 2}, {1, 2, 3, 4}));
  Endpoint x = g.add({"CopyHost", {a}, {}, {DType::kFloat}}), y = g.add({"Copy", {x}, {}, {DType::kFloat}});
  auto r = g.fetch(y);
  REQUIRE_FALSE(r.ok());
  CHECK(r.status().code() == Code::kUnimplemented);
  CHECK(r.status().message() == "emplace cannot run: Copy (node 'n2'), CopyHost (node 'n1')");
}

TEST_CASE("a plan that exceeds a device's limit is refused before the run") {
  RunCase g(1, 1 << 20);
  Endpoint x = g.add({"Placeholder",
                      {},
                      {{"dtype", AttrValue::of(DType::kFloat)}, {"shape", AttrValue::of(Shape{})}},
                      {DType::kFloat}});
  Endpoint y = binary(g, "Add", x, x, 1);
  SessionOptions o;
  o.feeds = {{x, f32({1024, 1024}, std::vector<float>(1 << 20))}};
  auto r = g.fetch_all({y}, o);
  REQUIRE_FALSE(r.ok());
  CHECK(r.status().code() == Code::kResourceExhausted);
  INFO(r.status().message());
  CHECK(r.status().message().find("device:GPU:0") != std::string::npos);
}
