// Copies of any size, for which nobody waits: in order with what is enqueued around them, from memory that stays as it
// is until they have read it, and nothing is touched after a failure.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "cuda/gpu.h"
#include "cuda/launch.h"
#include "cuda/standin/standin.h"
#include "tests/cuda/gpu_case.h"

namespace emplace::cuda::testing {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

struct Seed {
  explicit Seed(uint64_t seed) { standin::set_seed(seed); }
  ~Seed() { standin::set_seed(0); }
};

/// A GPU with this much memory mapped.
struct MappedGpu {
  explicit MappedGpu(int64_t size) : gpu(CudaGpu::open({0, 0, 2 * size}).take()), bytes(size) {
    memory = gpu->reserve(bytes).take();
    REQUIRE(gpu->map(memory, bytes).ok());
  }
  ~MappedGpu() {
    (void)gpu->wait_idle();
    CHECK(gpu->unmap(memory, bytes).ok());
    gpu->release(memory, bytes);
  }
  std::unique_ptr<Gpu> gpu;
  int64_t bytes;
  std::byte* memory = nullptr;
};

__global__ void double_kernel(uint32_t* x, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) x[i] *= 2;
}

TEST_CASE("nobody waits for large copies, which are in order with the kernels around them", "[host]") {
  const Seed seed(9);
  MappedGpu card(40 * kMiB);
  const int64_t n = card.bytes / 4;
  std::vector<uint32_t> sent(static_cast<size_t>(n)), received(sent.size(), 7), again(sent.size(), 7);
  std::iota(sent.begin(), sent.end(), 1u);
  auto* numbers = reinterpret_cast<uint32_t*>(card.memory);
  auto twice = [&] {
    REQUIRE(launch(Barriers::kNone, double_kernel, dim3(64), kThreads, 0, static_cast<cudaStream_t>(card.gpu->stream()),
                   numbers, n)
                .ok());
  };
  const standin::Counts before = standin::counts();
  const auto bytes = static_cast<size_t>(card.bytes);
  REQUIRE(card.gpu->copy_in(numbers, sent.data(), bytes, Gpu::Lane::kCompute, nullptr).ok());
  twice();
  const Result<uint64_t> first = card.gpu->copy_out(received.data(), numbers, bytes, Gpu::Lane::kCompute);
  twice();
  const Result<uint64_t> second = card.gpu->copy_out(again.data(), numbers, bytes, Gpu::Lane::kCompute);
  CHECK(standin::counts().waits == before.waits);
  CHECK(standin::counts().launches == before.launches + 2);
  CHECK(received.front() == 7);
  REQUIRE((first.ok() && second.ok()));
  REQUIRE(card.gpu->finish(*second).ok());
  for (size_t i = 0; i < sent.size(); ++i) {
    if (received[i] != 2 * sent[i] || again[i] != 4 * sent[i]) FAIL("number " << i);
  }
}

TEST_CASE("many copies behind a kernel that takes long keep nobody waiting either", "[host]") {
  const Seed seed(4);
  MappedGpu card(8 * kMiB);
  const standin::Counts before = standin::counts();
  std::vector<std::vector<std::byte>> results(100, std::vector<std::byte>(100'000));
  for (std::vector<std::byte>& r : results)
    REQUIRE(card.gpu->copy_out(r.data(), card.memory, r.size(), Gpu::Lane::kCompute).ok());
  CHECK(standin::counts().waits == before.waits);
  CHECK(card.gpu->finish(~uint64_t{0}).ok());
  for (const std::vector<std::byte>& r : results) CHECK(r == results[0]);
}

TEST_CASE("after a failure nothing of the host's memory is written", "[host]") {
  const Seed seed(2);
  MappedGpu card(4 * kMiB);
  std::vector<std::byte> received(static_cast<size_t>(card.bytes), std::byte{7});
  REQUIRE(card.gpu->copy_out(received.data(), card.memory, received.size(), Gpu::Lane::kCompute).ok());
  setenv("EMPLACE_STANDIN_FAILS", "cudaEventSynchronize=214", 1);
  const Status failed = card.gpu->finish(~uint64_t{0});
  unsetenv("EMPLACE_STANDIN_FAILS");
  CHECK(failed.code() == Code::kUnavailable);
  CHECK(card.gpu->wait_idle().ok());
  CHECK(std::all_of(received.begin(), received.end(), [](std::byte b) { return b == std::byte{7}; }));
  CHECK_FALSE(card.gpu->copy_out(received.data(), card.memory, received.size(), Gpu::Lane::kCompute).ok());
}

TEST_CASE("a process keeps streams and page-locked memory for its next graph", "[host]") {
  auto use = [] {
    MappedGpu card(4 * kMiB);
    std::vector<std::byte> few(1000), many(static_cast<size_t>(card.bytes));
    REQUIRE(card.gpu->copy_in(card.memory, few.data(), few.size(), Gpu::Lane::kCompute, nullptr).ok());
    REQUIRE(card.gpu->copy_in(card.memory, many.data(), many.size(), Gpu::Lane::kCompute, nullptr).ok());
    REQUIRE(card.gpu->finish(~uint64_t{0}).ok());
  };
  use();
  const standin::Counts first = standin::counts();
  for (int graph = 0; graph < 10; ++graph) use();
  CHECK(standin::counts().streams == first.streams);
  CHECK(standin::counts().page_locked == first.page_locked);
}

/// A constant of so many numbers, on the host.
Endpoint many_numbers(GpuCase& g, int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 101);
  return g.constant(Tensor::of<float>(Shape{count}, numbers));
}

/// Twice so many numbers, added on the host in every step: of constants alone the plan would know the sum.
Endpoint sum_in_step(GpuCase& g, Endpoint x, int64_t count) {
  const AttrValue type = AttrValue::of(DType::kFloat), shape = AttrValue::of(Shape{count});
  const Endpoint v = g.add({"VarHandleOp", {}, {{"dtype", type}, {"shape", shape}}, {DType::kResource}});
  const Endpoint start = g.add({"AssignVariableOp", {v, x}, {{"dtype", type}}, {}});
  const Endpoint read = g.add({"ReadVariableOp", {v}, {{"dtype", type}}, {DType::kFloat}, {start.node}});
  return g.binary("AddV2", read, x, 0);
}

TEST_CASE("a step launches its kernels while what they wait for is still on its way", "[host]") {
  const Seed seed(6);
  CudaBackend backend;
  GpuCase g(backend, 512 * kMiB);
  Endpoint large = many_numbers(g, 10 * kMiB), x = many_numbers(g, 100);  // 40 MiB
  Endpoint sum = sum_in_step(g, large, 10 * kMiB);
  Endpoint waits = g.binary("Mul", sum, sum, kGpu0), goes_on = x;
  for (int i = 0; i < 4; ++i) goes_on = g.binary("AddV2", goes_on, x, kGpu0);
  SessionOptions options;
  options.gpu.exec = GpuExec::kEager;
  options.fetches = {waits, goes_on};
  auto session = g.session(options);
  REQUIRE(session.ok());
  std::vector<Tensor> outputs;
  REQUIRE((*session)->step(outputs).ok());
  const standin::Counts before = standin::counts();
  REQUIRE((*session)->step(outputs).ok());
  CHECK(standin::counts().launches == before.launches + 5);
  CHECK(standin::counts().waits_at_launch == before.waits);
  CHECK(outputs[0].data<float>()[100] == 40000);
  CHECK(outputs[1].data<float>()[7] == 35);
}

TEST_CASE("a copy below a Switch keeps nobody waiting, and its source stays as it is", "[host]") {
  CudaBackend backend;
  auto run = [&](uint64_t seed) {
    const Seed order(seed);
    GpuCase g(backend, 512 * kMiB);
    Endpoint x = many_numbers(g, kMiB), yes = g.constant(Tensor::of<bool>(Shape{}, std::array{true}));
    Endpoint sum = sum_in_step(g, x, kMiB);  // in the host's block, where later sums are, too
    Endpoint s = g.add({"Switch", {sum, yes}, {}, {DType::kFloat, DType::kFloat}});
    Endpoint taken = g.binary("Mul", {s.node, 1}, {s.node, 1}, kGpu0);
    Endpoint more = g.binary("AddV2", taken, taken, kGpu0);
    Endpoint after = g.add({"AddV2", {x, x}, {}, {DType::kFloat}, {s.node}});
    for (int i = 0; i < 4; ++i) after = g.binary("AddV2", after, x, 0);
    SessionOptions options;
    options.gpu.exec = GpuExec::kEager;
    options.fetches = {more, after};
    auto session = g.session(options);
    REQUIRE(session.ok());
    std::vector<Tensor> outputs;
    REQUIRE((*session)->step(outputs).ok());
    const standin::Counts before = standin::counts();
    REQUIRE((*session)->step(outputs).message() == "");
    CHECK(standin::counts().waits_at_launch == before.waits);
    for (int64_t i = 0; i < kMiB; ++i) {
      const auto v = static_cast<float>(i % 101);
      if (outputs[0].data<float>()[i] != 8 * v * v || outputs[1].data<float>()[i] != 6 * v) FAIL("number " << i);
    }
  };
  for (uint64_t seed = 1; seed <= 10; ++seed) run(seed);
}

/// A GPU that says that it has read what it is still to read, or does not hold what it is to hold.
class Hasty final : public ForwardingGpu {
 public:
  Hasty(std::unique_ptr<Gpu> gpu, bool says_so, bool holds)
      : ForwardingGpu(std::move(gpu)), says_so_(says_so), holds_(holds) {}
  Result<uint64_t> copy_in(void* to, const void* from, size_t bytes, Lane lane,
                           std::shared_ptr<const void> keeps) override {
    ASSIGN_OR_RETURN(const uint64_t ticket, gpu_->copy_in(to, from, bytes, lane, holds_ ? keeps : nullptr));
    return says_so_ ? 0 : ticket;
  }

 private:
  const bool says_so_, holds_;
};
class HastyBackend final : public ForwardingBackend {
 public:
  HastyBackend(bool says_so, bool holds) : says_so_(says_so), holds_(holds) {}

 private:
  std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) override {
    return std::make_unique<Hasty>(std::move(gpu), says_so_, holds_);
  }
  const bool says_so_, holds_;
};

constexpr int64_t kBeyondRing = 150'000;  // floats: these copies go in turns

/// How often of 20 orders the streams' results are not the CPU's.
int wrong_orders(GpuBackend& backend, const std::function<std::vector<Endpoint>(GpuCase&)>& graph) {
  auto run = [&](uint64_t seed, bool on_cpu) {
    const Seed order(seed);
    GpuCase g(backend);
    const std::vector<Endpoint> fetches = graph(g);
    for (Decision& d : g.placement.decisions) d.device = on_cpu ? 0 : d.device;
    SessionOptions options;
    options.gpu.exec = GpuExec::kEager;
    auto outputs = g.fetch_all(fetches, options, 2);
    REQUIRE(outputs.ok());
    std::vector<float> all;
    for (const Tensor& t : *outputs) {
      const std::vector<float> values = emplace::testing::floats(t);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const std::vector<float> want = run(0, true);
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) wrong += run(seed, false) != want;
  return wrong;
}

/// The host goes on with values in memory that others, on their way to the GPU, have just given up.
std::vector<Endpoint> overtaken(GpuCase& g) {
  Endpoint x = many_numbers(g, kBeyondRing), v = sum_in_step(g, x, kBeyondRing);
  Endpoint sum = g.binary("AddV2", v, x, kGpu0);
  for (int i = 0; i < 6; ++i) {
    v = g.binary("AddV2", v, x, 0);
    sum = g.binary("AddV2", sum, v, kGpu0);
  }
  return {sum};
}

TEST_CASE("the host writes over nothing that a copy is still to read", "[host]") {
  HastyBackend waits(false, true), hurries(true, true);
  CHECK(wrong_orders(waits, overtaken) == 0);
  CHECK(wrong_orders(hurries, overtaken) >= 5);
}

/// A variable of the host's is read for the GPU, and then added to.
std::vector<Endpoint> read_and_changed(GpuCase& g) {
  const AttrValue type = AttrValue::of(DType::kFloat);
  Endpoint x = many_numbers(g, kBeyondRing);
  Endpoint v =
      g.add({"VarHandleOp", {}, {{"dtype", type}, {"shape", AttrValue::of(Shape{kBeyondRing})}}, {DType::kResource}});
  Endpoint start = g.add({"AssignVariableOp", {v, x}, {{"dtype", type}}, {}});
  Endpoint read = g.add({"ReadVariableOp", {v}, {{"dtype", type}}, {DType::kFloat}, {start.node}});
  Endpoint on_gpu = g.binary("AddV2", read, x, kGpu0);
  Endpoint added = g.add({"AssignAddVariableOp", {v, x}, {{"dtype", type}}, {}, {read.node}});
  Endpoint later = g.add({"ReadVariableOp", {v}, {{"dtype", type}}, {DType::kFloat}, {added.node}});
  return {on_gpu, later};
}

TEST_CASE("a variable that a copy is still to read is not changed in place", "[host]") {
  HastyBackend holds(false, true), lets_go(false, false);
  CHECK(wrong_orders(holds, read_and_changed) == 0);
  CHECK(wrong_orders(lets_go, read_and_changed) >= 5);
}

/// Notes which calls come in which order.
class Noting final : public ForwardingBackend {
 public:
  void will_run(std::string_view op) override { calls.push_back("will run " + std::string(op)); }
  std::vector<std::string> calls;

 private:
  std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) override {
    calls.push_back("open");
    return gpu;
  }
};

TEST_CASE("what takes long to be there is announced before the first context is made", "[host]") {
  Noting backend;
  GpuCase g(backend);
  Endpoint x = g.constant(emplace::testing::f32(Shape{2, 2}, {1, 2, 3, 4}), kGpu0);
  Endpoint y = g.add({"MatMul",
                      {x, x},
                      {{"transpose_a", AttrValue::of(false)}, {"transpose_b", AttrValue::of(false)}},
                      {DType::kFloat},
                      {},
                      {},
                      kGpu0});
  REQUIRE(g.fetch_all({y}).ok());
  const auto announced = std::find(backend.calls.begin(), backend.calls.end(), "will run MatMul");
  CHECK(announced != backend.calls.end());
  CHECK(announced < std::find(backend.calls.begin(), backend.calls.end(), "open"));
}

}  // namespace
}  // namespace emplace::cuda::testing
