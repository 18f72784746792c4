// Kinds of steps: fed anew each time, planned per shape, guarded.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

Endpoint placeholder(RunCase& g) {
  return g.add({"Placeholder",
                {},
                {{"dtype", AttrValue::of(DType::kFloat)}, {"shape", AttrValue::of(Shape{-1})}},
                {DType::kFloat}});
}

/// w, and a step that adds the sum of x to it once the sum is known to be finite.
struct Adder {
  RunCase g;
  Endpoint x = placeholder(g);
  Endpoint axes = g.constant(i32({1}, {0}));
  Endpoint w = g.add({"VariableV2",
                      {},
                      {{"dtype", AttrValue::of(DType::kFloat)}, {"shape", AttrValue::of(Shape{})}},
                      {static_cast<DType>(static_cast<int>(DType::kFloat) + kRefOffset)}});
  Endpoint zero = g.constant(f32({}, {0}));
  Endpoint init =
      g.add({"Assign", {w, zero}, {{"T", AttrValue::of(DType::kFloat)}}, {w_type()}, {}, {w_type(), DType::kFloat}});
  // Before the sum in the file: only the guard keeps it from running first.
  Endpoint count = g.add({"AssignAdd",
                          {w, g.constant(f32({}, {1}))},
                          {{"T", AttrValue::of(DType::kFloat)}},
                          {w_type()},
                          {},
                          {w_type(), DType::kFloat}});
  Endpoint sum = g.add(
      {"Sum", {x, axes}, {{"keep_dims", AttrValue::of(false)}, {"T", AttrValue::of(DType::kFloat)}}, {DType::kFloat}});
  std::unique_ptr<Session> session;
  int kind = 0;

  static DType w_type() { return static_cast<DType>(static_cast<int>(DType::kFloat) + kRefOffset); }

  Adder() {
    auto made = g.session({});
    REQUIRE(made.ok());
    session = made.take();
    REQUIRE(session->run_nodes({init.node}).ok());
    kind = session->add_step({{sum}, {count.node}, {x}, sum});
  }
  float w_now() { return *session->variable(w.node).take().data<float>(); }
};

}  // namespace

TEST_CASE("a step takes new values and other batch sizes each time") {
  Adder a;
  std::vector<Tensor> out;
  for (int n : {3, 5, 3, 1, 0}) {
    REQUIRE(a.session->run_step(a.kind, {f32({n}, std::vector<float>(static_cast<size_t>(n), 2))}, out).ok());
    CHECK(floats(out[0]) == std::vector<float>{2.0f * static_cast<float>(n)});
  }
  REQUIRE(a.session->run_step(a.kind, {f32({3}, {1, 2, 4})}, out).ok());
  CHECK(floats(out[0]) == std::vector<float>{7});
  CHECK(a.w_now() == 6);
}

TEST_CASE("more shapes than plans are kept still run") {
  Adder a;
  std::vector<Tensor> out;
  for (int n = 1; n < 30; ++n) {
    REQUIRE(a.session->run_step(a.kind, {f32({n}, std::vector<float>(static_cast<size_t>(n), 1))}, out).ok());
    CHECK(floats(out[0]) == std::vector<float>{static_cast<float>(n)});
  }
}

TEST_CASE("a guard that is not finite keeps variables from being written") {
  Adder a;
  std::vector<Tensor> out;
  REQUIRE(a.session->run_step(a.kind, {f32({1}, {1})}, out).ok());
  for (float bad : {std::nanf(""), INFINITY}) {
    Status status = a.session->run_step(a.kind, {f32({2}, {1, bad})}, out);
    CHECK(status.code() == Code::kDataLoss);
    CHECK(a.w_now() == 1);
  }
  REQUIRE(a.session->run_step(a.kind, {f32({1}, {1})}, out).ok());
  CHECK(a.w_now() == 2);
}

TEST_CASE("variables can be set from outside") {
  Adder a;
  REQUIRE(a.session->set_variable(a.w.node, f32({}, {41})).ok());
  std::vector<Tensor> out;
  REQUIRE(a.session->run_step(a.kind, {f32({1}, {0})}, out).ok());
  CHECK(a.w_now() == 42);
}

TEST_CASE("kinds that run at the same time have memory of their own, others share it") {
  for (int at_once : {1, 3}) {
    RunCase g;
    Endpoint x = placeholder(g);
    Endpoint axes = g.constant(i32({1}, {0}));
    Endpoint sum = g.add({"Sum",
                          {x, axes},
                          {{"keep_dims", AttrValue::of(false)}, {"T", AttrValue::of(DType::kFloat)}},
                          {DType::kFloat}});
    auto session = g.session({}).take();
    const Tensor fed = f32({100}, std::vector<float>(100, 1));
    std::vector<int64_t> planned;
    for (int kind = 0; kind < 3; ++kind) {
      REQUIRE(session->add_step({{sum}, {}, {x}, {}}, at_once) == kind);
      REQUIRE(session->plan_step(kind, {fed}).ok());
      planned.push_back(session->memory()[0].planned);
    }
    REQUIRE(planned[0] > 0);
    CHECK(planned[2] == (at_once == 1 ? planned[0] : 3 * planned[0]));
    std::vector<Tensor> out;
    for (int kind = 0; kind < 3; ++kind) {
      REQUIRE(session->run_step(kind, {fed}, out).ok());
      CHECK(floats(out[0]) == std::vector<float>{100});
    }
    CHECK(session->memory()[0].planned == planned[2]);
  }
}
