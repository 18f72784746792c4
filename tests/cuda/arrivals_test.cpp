// Copies to the host that the interpreter makes, below a Switch and in a loop's body: they are on their way while a GPU
// gets its next work, and there when somebody reads them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "cuda/standin/standin.h"
#include "tests/cuda/gpu_case.h"

namespace emplace::cuda::testing {
namespace {

constexpr int64_t kNumbersBeyondRing = 150'000;  // floats: these copies go in turns
constexpr DType kF = DType::kFloat;

/// Notes "out" where a copy to the host is enqueued, "wait" where the host waits for one.
class Arrivals final : public ForwardingGpu {
 public:
  Arrivals(std::unique_ptr<Gpu> gpu, std::vector<std::string>& notes) : ForwardingGpu(std::move(gpu)), notes_(notes) {}
  Result<uint64_t> copy_out(void* to, const void* from, size_t bytes, Lane lane) override {
    notes_.emplace_back("out");
    return gpu_->copy_out(to, from, bytes, lane);
  }
  Status finish(uint64_t ticket) override {
    notes_.emplace_back(ticket == ~uint64_t{0} ? "end" : "wait");
    return gpu_->finish(ticket);
  }

 private:
  std::vector<std::string>& notes_;
};
class ArrivalsBackend final : public ForwardingBackend {
 public:
  std::vector<std::string> notes;

 private:
  std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) override {
    return std::make_unique<Arrivals>(std::move(gpu), notes);
  }
};

Endpoint numbers(GpuCase& g, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) / 8;
  return g.constant(Tensor::of<float>(Shape{count}, values));
}

/// Two results of the branch that is taken, for one sum on the host; both are given up by others that read them.
Endpoint below_switch(GpuCase& g, int64_t count) {
  Endpoint x = numbers(g, count), yes = g.constant(Tensor::of<bool>(Shape{}, std::array{true}));
  Endpoint y = g.binary("AddV2", x, x, kGpu0);
  Endpoint s = g.add({"Switch", {y, yes}, {}, {kF, kF}, {}, {}, kGpu0});
  Endpoint a = g.binary("Mul", {s.node, 1}, {s.node, 1}, kGpu0), b = g.binary("AddV2", a, {s.node, 1}, kGpu0);
  Endpoint sum = g.binary("AddV2", a, b, 0);
  return g.binary("Mul", sum, g.binary("AddV2", b, a, kGpu0), 0);
}

/// x = x * x + x on a GPU, added up on the host, three times.
Endpoint in_loop(GpuCase& g, int64_t count) {
  auto frame = [](bool constant) {
    return std::vector<std::pair<std::string, AttrValue>>{{"frame_name", AttrValue::of(std::string("loop"))},
                                                          {"is_constant", AttrValue::of(constant)}};
  };
  const std::vector<std::pair<std::string, AttrValue>> two{{"N", AttrValue::of(int64_t{2})}};
  auto merge = [&](Endpoint enter, DeviceId device) {
    return g.add({"Merge", {enter, enter}, two, {kF, DType::kInt32}, {}, {}, device});
  };
  auto scalar = [&](float value) { return g.constant(emplace::testing::f32(Shape{}, {value})); };
  Endpoint limit = g.add({"Enter", {scalar(3)}, frame(true), {kF}});
  Endpoint one = g.add({"Enter", {scalar(1)}, frame(true), {kF}});
  Endpoint i = merge(g.add({"Enter", {scalar(0)}, frame(false), {kF}}), 0);
  Endpoint x = merge(g.add({"Enter", {numbers(g, count)}, frame(false), {kF}, {}, {}, kGpu0}), kGpu0);
  Endpoint total = merge(g.add({"Enter", {numbers(g, count)}, frame(false), {kF}}), 0);
  Endpoint goes_on = g.add({"LoopCond", {g.add({"NotEqual", {i, limit}, {}, {DType::kBool}})}, {}, {DType::kBool}});
  auto split = [&](Endpoint v, DeviceId device) {
    return g.add({"Switch", {v, goes_on}, {}, {kF, kF}, {}, {}, device}).node;
  };
  const NodeId of_i = split(i, 0), of_x = split(x, kGpu0), of_total = split(total, 0);
  Endpoint square = g.binary("Mul", {of_x, 1}, {of_x, 1}, kGpu0);
  Endpoint next = g.binary("AddV2", square, {of_x, 1}, kGpu0);
  Endpoint sum = g.binary("AddV2", square, next, 0);
  auto back = [&](Endpoint merged, Endpoint value, DeviceId device) {
    g.rewire(merged.node, 1, g.add({"NextIteration", {value}, {}, {kF}, {}, {}, device}));
  };
  back(i, g.binary("AddV2", {of_i, 1}, one, 0), 0);
  back(x, next, kGpu0);
  back(total, g.binary("AddV2", {of_total, 1}, sum, 0), 0);
  return g.add({"Exit", {{of_total, 0}}, {}, {kF}});
}

/// What a variable of a GPU holds has no fixed place, its copy has: what reads that needs no interpreter.
Endpoint of_variable(GpuCase& g, int64_t count) {
  const AttrValue type = AttrValue::of(kF);
  Endpoint x = numbers(g, count);
  Endpoint v = g.add({"VarHandleOp",
                      {},
                      {{"dtype", type}, {"shape", AttrValue::of(Shape{count})}},
                      {DType::kResource},
                      {},
                      {},
                      kGpu0});
  Endpoint sum = g.binary("AddV2", x, x, kGpu0);
  Endpoint start = g.add({"AssignVariableOp", {v, sum}, {{"dtype", type}}, {}, {}, {}, kGpu0});
  Endpoint read = g.add({"ReadVariableOp", {v}, {{"dtype", type}}, {kF}, {start.node}, {}, kGpu0});
  return g.add({"L2Loss", {read}, {}, {kF}});  // whose result lies elsewhere
}

using Program = Endpoint (*)(GpuCase&, int64_t);

/// Between the copies of one moment, "out" and "wait" as they come in the second step.
std::vector<std::string> notes_of(Program program) {
  ArrivalsBackend backend;
  GpuCase g(backend);
  SessionOptions options;
  options.gpu.exec = GpuExec::kEager;
  options.fetches = {program(g, kNumbersBeyondRing)};
  auto session = g.session(options);
  REQUIRE(session.ok());
  std::vector<Tensor> outputs;
  REQUIRE((*session)->step(outputs).message() == "");
  backend.notes.clear();
  REQUIRE((*session)->step(outputs).message() == "");
  return backend.notes;
}

TEST_CASE("copies to the host below a Switch and in a loop are enqueued before one is waited for", "[host]") {
  for (Program program : {below_switch, in_loop}) {
    const std::vector<std::string> notes = notes_of(program);
    const auto first = std::find(notes.begin(), notes.end(), "out");
    REQUIRE(first != notes.end());
    REQUIRE(first + 1 != notes.end());
    INFO(Catch::Detail::stringify(notes));
    CHECK(*(first + 1) == "out");
    CHECK(std::find(notes.begin(), notes.end(), "wait") != notes.end());
  }
}

TEST_CASE("what is on its way to the host is there when it is read; in any order of the streams", "[host]") {
  for (Program program : {below_switch, in_loop, of_variable}) {
    auto run = [&](uint64_t seed, bool on_cpu, int64_t count) {
      standin::set_seed(seed);
      CudaBackend backend;
      GpuCase g(backend);
      const Endpoint fetched = program(g, count);
      for (Decision& d : g.placement.decisions) d.device = on_cpu ? 0 : d.device;
      SessionOptions options;
      options.gpu.exec = GpuExec::kEager;
      auto outputs = g.fetch_all({fetched}, options);  // a second step finds what the first one left
      REQUIRE(outputs.status().message() == "");
      return emplace::testing::floats(outputs->at(0));
    };
    for (int64_t count : {int64_t{1000}, kNumbersBeyondRing}) {
      const std::vector<float> want = run(0, true, count);
      for (uint64_t seed = 1; seed <= 12; ++seed) CHECK(run(seed, false, count) == want);
    }
    standin::set_seed(0);
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
