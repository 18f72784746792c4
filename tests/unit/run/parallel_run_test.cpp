#include <catch2/catch.hpp>
#include <random>

#include "core/run/parallel_run.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Random elementwise ops, products and reductions of [120,120] matrices on random devices.
struct RandomGraph {
  explicit RandomGraph(unsigned seed, int gpus) : g(gpus) {
    std::mt19937 random(seed);
    auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
    std::vector<float> start(120 * 120);
    for (float& v : start) v = static_cast<float>(pick(1000)) * 0.001f;
    std::vector<Endpoint> made = {g.constant(f32({120, 120}, start))};
    const char* const binary[] = {"AddV2", "Mul", "Sub", "Maximum", "MatMul"};
    for (int i = 0; i < 60; ++i) {
      auto device = static_cast<DeviceId>(pick(static_cast<size_t>(gpus) + 1));
      Endpoint a = made[made.size() - 1 - pick(std::min<size_t>(made.size(), 8))], b = made[pick(made.size())];
      made.push_back(g.add({binary[pick(5)], {a, b}, {}, {DType::kFloat}, {}, {}, device}));
      if (i % 9 == 0) made.push_back(g.add({"Identity", {made.back()}, {}, {DType::kFloat}, {}, {}, device}));
    }
    for (size_t i = made.size() - 6; i < made.size(); ++i) fetches.push_back(made[i]);
  }
  std::vector<Tensor> run(int threads) {
    SessionOptions o;
    o.inter_op_threads = o.intra_op_threads = threads;
    auto r = g.fetch_all(fetches, o, 3);
    INFO(r.status().message());
    REQUIRE(r.ok());
    return r.take();
  }
  RunCase g;
  std::vector<Endpoint> fetches;
};

}  // namespace

TEST_CASE("independent steps beside each other give the bytes of one after the other") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    RandomGraph random(seed, static_cast<int>(seed % 3));
    INFO("seed " << seed);
    auto one = random.run(1), many = random.run(4);
    for (size_t i = 0; i < one.size(); ++i) CHECK(same_bytes(one[i], many[i]));
  }
}

TEST_CASE("devices do not matter to the bytes") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    RandomGraph gpus(seed, 2);
    RandomGraph all_cpu(seed, 2);
    for (Decision& d : all_cpu.g.placement.decisions) d.device = 0;
    auto a = gpus.run(2), b = all_cpu.run(2);
    for (size_t i = 0; i < a.size(); ++i) CHECK(same_bytes(a[i], b[i]));
  }
}

TEST_CASE("of several failures the first in step order is reported") {
  RunCase g;
  Endpoint big = g.constant(f32({200, 200}, std::vector<float>(40000, 1.0f)));
  std::vector<NodeId> targets;
  for (int i = 0; i < 6; ++i) {
    Endpoint m = g.add({"MatMul", {big, big}, {}, {DType::kFloat}});
    Endpoint p = g.add({"Placeholder",
                        {},
                        {{"dtype", AttrValue::of(DType::kFloat)}, {"shape", AttrValue::of(Shape{})}},
                        {DType::kFloat},
                        {m.node}});
    targets.push_back(p.node);
  }
  for (int threads : {1, 4}) {
    SessionOptions o;
    o.targets = targets;
    o.inter_op_threads = threads;
    auto r = g.fetch_all({}, o);
    REQUIRE_FALSE(r.ok());
    CHECK(r.status().message().find("{{node n2}}") != std::string::npos);
  }
}
