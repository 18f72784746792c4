// Whole graphs on the plug-in's GPUs, on the stand-in: streams in many orders, recorded steps, limits.
#include <catch2/catch.hpp>

#include <algorithm>

#include "cuda/backend.h"
#include "cuda/standin/standin.h"
#include "tests/cuda/gpu_case.h"

namespace emplace::cuda::testing {
namespace {

using emplace::testing::f32;
using emplace::testing::floats;

/// A GPU that forgets to wait in one lane, but for the first `kept` times.
class Forgetful final : public ForwardingGpu {
 public:
  Forgetful(std::unique_ptr<Gpu> gpu, Lane lane, int kept) : ForwardingGpu(std::move(gpu)), lane_(lane), kept_(kept) {}
  Status wait_for(GpuEvent& event, Lane lane) override {
    return lane == lane_ && kept_-- <= 0 ? ok_status() : gpu_->wait_for(event, lane);
  }

 private:
  Lane lane_;
  int kept_;
};

class ForgetfulBackend final : public ForwardingBackend {
 public:
  explicit ForgetfulBackend(Gpu::Lane lane, int kept = 0) : lane_(lane), kept_(kept) {}

 private:
  std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) override {
    return std::make_unique<Forgetful>(std::move(gpu), lane_, kept_);
  }
  Gpu::Lane lane_;
  int kept_;
};

/// Values that go to and fro between both GPUs and the host, in memory that is used again and again.
std::vector<Endpoint> zigzag(GpuCase& g) {
  std::vector<float> numbers(3000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 97);
  Endpoint x = g.constant(Tensor::of<float>(Shape{3000}, numbers));
  Endpoint a = g.binary("AddV2", x, x, 0), late = g.binary("AddV2", x, x, 0);
  std::vector<Endpoint> fetches;
  for (int round = 0; round < 4; ++round) {
    Endpoint b = g.binary("AddV2", a, x, kGpu0);
    Endpoint c = g.binary("Sub", b, a, kGpu0);
    Endpoint d = g.binary("AddV2", c, b, kGpu1);
    Endpoint e = g.binary("Sub", d, c, kGpu1);
    Endpoint f = g.binary("AddV2", b, e, kGpu0);
    Endpoint host = g.binary("Sub", f, e, 0);
    fetches.push_back(f);
    fetches.push_back(host);
    a = g.binary("AddV2", f, host, kGpu0);
    // `late` comes into memory that work not yet done has just been given up by.
    Endpoint p = g.binary("AddV2", a, x, kGpu0);
    Endpoint q = g.binary("AddV2", p, g.binary("Sub", p, a, kGpu0), kGpu0);
    fetches.push_back(g.binary("Sub", q, late, kGpu0));
    late = g.binary("AddV2", late, x, 0);
  }
  fetches.push_back(a);
  return fetches;
}

std::vector<float> run_zigzag(GpuBackend& backend, uint64_t seed, GpuExec exec, int steps = 2) {
  standin::set_seed(seed);
  std::vector<float> all;
  {
    GpuCase g(backend);
    std::vector<Endpoint> fetches = zigzag(g);
    SessionOptions options;
    options.gpu.exec = exec;
    auto outputs = g.fetch_all(fetches, options, steps);
    REQUIRE(outputs.ok());
    for (const Tensor& t : *outputs) {
      std::vector<float> values = floats(t);
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  standin::set_seed(0);
  return all;
}

std::vector<float> zigzag_on_cpu() {
  CudaBackend backend;
  GpuCase g(backend);
  std::vector<Endpoint> fetches = zigzag(g);
  for (Decision& d : g.placement.decisions) d.device = 0;
  auto outputs = g.fetch_all(fetches);
  REQUIRE(outputs.ok());
  std::vector<float> all;
  for (const Tensor& t : *outputs) {
    std::vector<float> values = floats(t);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST_CASE("whatever order streams run in, results are the CPU's", "[host]") {
  CudaBackend backend;
  const std::vector<float> want = zigzag_on_cpu();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    CHECK(run_zigzag(backend, seed, GpuExec::kEager) == want);
  }
}

TEST_CASE("recorded steps give the bytes of eager ones", "[host]") {
  CudaBackend backend;
  const std::vector<float> want = zigzag_on_cpu();
  for (uint64_t seed = 0; seed < 10; ++seed) {
    INFO("seed " << seed);
    for (int steps = 1; steps <= 4; ++steps) CHECK(run_zigzag(backend, seed, GpuExec::kGraph, steps) == want);
  }
}

TEST_CASE("a wait that is missing shows in some order of the streams", "[host]") {
  const std::vector<float> want = zigzag_on_cpu();
  ForgetfulBackend remembers(Gpu::Lane::kCompute, 1 << 30);
  for (uint64_t seed = 1; seed <= 60; ++seed) CHECK(run_zigzag(remembers, seed, GpuExec::kEager) == want);
  for (Gpu::Lane lane : {Gpu::Lane::kCompute, Gpu::Lane::kToDevice, Gpu::Lane::kToHost, Gpu::Lane::kPeer}) {
    ForgetfulBackend backend(lane);
    int caught = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) caught += run_zigzag(backend, seed, GpuExec::kEager) != want;
    INFO("lane " << static_cast<int>(lane));
    CHECK(caught >= 15);
  }
}

/// Chains from one value to one sum, in memory that each of them uses again, some of them across another.
std::vector<Endpoint> branches(GpuCase& g, int64_t elements = 700) {
  std::vector<float> numbers(static_cast<size_t>(elements));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 31) - 15;
  Endpoint x = g.constant(Tensor::of<float>(Shape{elements}, numbers));
  Endpoint start = g.binary("AddV2", x, x, kGpu0), before = start;
  std::vector<Endpoint> ends;
  for (int branch = 0; branch < 5; ++branch) {
    Endpoint v = g.binary("Sub", start, x, kGpu0);
    for (int i = 0; i < 6; ++i) v = g.binary(i % 2 ? "AddV2" : "Sub", v, i == 4 ? before : x, kGpu0);
    ends.push_back(v);
    before = v;
  }
  Endpoint sum = ends[0];
  for (size_t i = 1; i < ends.size(); ++i) sum = g.binary("Sub", sum, g.binary("Mul", ends[i], x, kGpu0), kGpu0);
  return {sum, ends[2]};
}

/// Empty if the run failed.
std::vector<float> run_branches(GpuBackend& backend, uint64_t seed, GpuExec exec) {
  standin::set_seed(seed);
  std::vector<float> all;
  {
    GpuCase g(backend);
    SessionOptions options;
    options.gpu.exec = exec;
    if (auto outputs = g.fetch_all(branches(g), options, 4); outputs.ok()) {
      for (const Tensor& t : *outputs) {
        std::vector<float> values = floats(t);
        all.insert(all.end(), values.begin(), values.end());
      }
    }
  }
  standin::set_seed(0);
  return all;
}

TEST_CASE("branches of a recorded step give the bytes of one chain, in whatever order they run", "[host]") {
  CudaBackend backend;
  const std::vector<float> want = run_branches(backend, 0, GpuExec::kEager);
  REQUIRE(want.size() == 1400);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    CHECK(run_branches(backend, seed, GpuExec::kGraph) == want);
  }
}

TEST_CASE("a wait between branches that is missing shows in some order", "[host]") {
  CudaBackend honest;
  const std::vector<float> want = run_branches(honest, 0, GpuExec::kEager);
  for (Gpu::Lane lane : {Gpu::Lane::kCompute, Gpu::Lane::kBranch1, Gpu::Lane::kBranch2, Gpu::Lane::kBranch3}) {
    ForgetfulBackend backend(lane, lane == Gpu::Lane::kCompute ? 0 : 1);  // the first: where the branch begins
    int caught = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) caught += run_branches(backend, seed, GpuExec::kGraph) != want;
    INFO("lane " << static_cast<int>(lane));
    CHECK(caught >= 5);
  }
}

TEST_CASE("branches take no memory that a limit does not leave", "[host]") {
  CudaBackend backend;
  standin::set_seed(3);
  for (int64_t limit : {int64_t{16} << 20, int64_t{6} << 20, int64_t{4} << 20, int64_t{2} << 20}) {
    INFO("limit " << limit);
    GpuCase eager(backend, limit), recorded(backend, limit);
    SessionOptions chain, in_branches;
    chain.gpu.exec = GpuExec::kEager;
    in_branches.gpu.exec = GpuExec::kGraph;
    auto want = eager.fetch_all(branches(eager, 100000), chain, 3),
         got = recorded.fetch_all(branches(recorded, 100000), in_branches, 3);
    CHECK(want.status().message() == got.status().message());
    if (want.ok() && got.ok()) CHECK(floats(want->at(0)) == floats(got->at(0)));
  }
  standin::set_seed(0);
}

/// Notes what one thread does to two GPUs, in its order: "run 1" for a launch on GPU:1, "mark 0" for an event in
/// GPU:0's compute lane, "wait 0" where the host waits for a copy from GPU:0.
class Noting final : public ForwardingGpu {
 public:
  Noting(std::unique_ptr<Gpu> gpu, int number, std::vector<std::string>& notes)
      : ForwardingGpu(std::move(gpu)), number_(number), notes_(notes) {}
  Status activate() override { return note("run"), gpu_->activate(); }
  Status record(GpuEvent& event, Lane lane) override {
    if (lane == Lane::kCompute) note("mark");
    return gpu_->record(event, lane);
  }
  Status finish(uint64_t ticket) override { return note("wait"), gpu_->finish(ticket); }

 private:
  void note(std::string what) { notes_.push_back(what + " " + std::to_string(number_)); }
  int number_;
  std::vector<std::string>& notes_;
};

class NotingBackend final : public ForwardingBackend {
 public:
  std::vector<std::string> notes;

 private:
  std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) override {
    return std::make_unique<Noting>(std::move(gpu), opened_++, notes);
  }
  int opened_ = 0;
};

TEST_CASE("a GPU has its work before the host waits for another one's result", "[host]") {
  NotingBackend backend;
  GpuCase g(backend);
  Endpoint x = g.constant(f32(Shape{3}, {1, 2, 3}));
  Endpoint a = g.binary("AddV2", x, x, kGpu0);
  Endpoint host = g.binary("Mul", a, x, 0);  // waits for GPU:0
  Endpoint later = g.binary("AddV2", host, x, kGpu0);
  Endpoint beside = g.binary("Sub", x, x, kGpu0);  // nothing that `host` needs
  Endpoint b = g.binary("AddV2", x, x, kGpu1), c = g.binary("Mul", b, b, kGpu1);
  Endpoint sum = g.binary("AddV2", c, later, kGpu1);
  SessionOptions options;
  options.gpu.exec = GpuExec::kEager;
  options.fetches = {sum, beside};
  auto session = g.session(options);
  REQUIRE(session.ok());
  std::vector<Tensor> out;
  REQUIRE((*session)->step(out).ok());
  backend.notes.clear();
  REQUIRE((*session)->step(out).ok());
  CHECK(floats(out[0]) == std::vector<float>{7, 26, 57});

  auto& notes = backend.notes;
  auto first_wait = std::find(notes.begin(), notes.end(), "wait 0");
  REQUIRE(first_wait != notes.end());
  CHECK(std::count(notes.begin(), first_wait, "run 0") == 2);  // a, beside
  CHECK(std::count(notes.begin(), first_wait, "run 1") == 2);  // b, c
  // The copy waits for `a`, not for `beside`.
  auto run_a = std::find(notes.begin(), notes.end(), "run 0"), run_beside = std::find(run_a + 1, notes.end(), "run 0");
  CHECK(std::count(run_a, run_beside, "mark 0") == 1);
}

TEST_CASE("a GPU that only gets and gives copies", "[host]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    standin::set_seed(seed);
    for (GpuExec exec : {GpuExec::kEager, GpuExec::kGraph}) {
      INFO("seed " << seed << (exec == GpuExec::kGraph ? ", recorded" : ""));
      CudaBackend backend;
      GpuCase g(backend);
      Endpoint x = g.constant(f32(Shape{3}, {1, 2, 3}));
      Endpoint a = g.binary("AddV2", x, x, kGpu0);
      Endpoint there = g.add({"Identity", {a}, {}, {DType::kFloat}, {}, {}, kGpu1});
      Endpoint back = g.binary("AddV2", there, x, kGpu0), late = g.binary("Sub", back, x, kGpu0);
      SessionOptions options;
      options.gpu.exec = exec;
      auto out = g.fetch_all({there, back, late}, options, 3);
      REQUIRE(out.status().message() == "");
      CHECK(floats(out->at(0)) == std::vector<float>{2, 4, 6});
      CHECK(floats(out->at(1)) == std::vector<float>{3, 6, 9});
      CHECK(floats(out->at(2)) == std::vector<float>{2, 4, 6});
    }
  }
  standin::set_seed(0);
}

TEST_CASE("early launches that a limit leaves no memory for wait instead", "[host]") {
  CudaBackend backend;
  GpuCase g(backend, int64_t{5} << 20);
  const int64_t elements = int64_t{1} << 18;  // 1 MiB
  Endpoint x = g.constant(Tensor::of<float>(Shape{elements}, std::vector<float>(static_cast<size_t>(elements), 1.0f)));
  Endpoint total = g.binary("AddV2", x, x, 0);
  // Nine values, each of which is added to what the host makes of it: all at once are too many.
  for (int i = 0; i < 9; ++i) {
    Endpoint a = g.binary("AddV2", x, x, i % 2 ? kGpu1 : kGpu0);
    Endpoint host = g.binary("AddV2", total, a, 0);
    total = g.binary("Sub", host, x, 0);
    total = g.binary("AddV2", g.binary("AddV2", total, x, kGpu0), a, i % 2 ? kGpu1 : kGpu0);
  }
  auto out = g.fetch_all({total});
  REQUIRE(out.status().message() == "");
}

TEST_CASE("a logical GPU's limit holds, whatever the card has", "[host]") {
  CudaBackend backend;
  GpuCase g(backend, int64_t{3} << 20);
  Endpoint x = g.constant(Tensor::allocate(DType::kFloat, Shape{1 << 19}).take());
  std::fill_n(g.file.graph.attrs(x.node).tensor("value").data<float>(), 1 << 19, 1.0f);
  Endpoint y = g.binary("AddV2", x, x, kGpu0), z = g.binary("Sub", y, x, kGpu0);
  auto refused = g.fetch_all({z, y});
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == Code::kResourceExhausted);
  CHECK(refused.status().message().find("(4.0 MiB for planned tensors), its limit is 3.0 MiB: 1.0 MiB short") !=
        std::string::npos);
}

}  // namespace
}  // namespace emplace::cuda::testing
