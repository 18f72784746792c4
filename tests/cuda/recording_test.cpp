// Recorded runs whose inputs are variables.
#include <catch2/catch.hpp>

#include <cuda_runtime.h>

#include <cstdlib>
#include <numeric>

#include "core/run/gpu_recording.h"
#include "cuda/error.h"
#include "cuda/standin/open_things.h"
#include "tests/cuda/gpu_case.h"

namespace emplace::cuda::testing {
namespace {

using emplace::testing::floats;

constexpr int64_t kElements = 300;

/// What the recordings of a GPU came to.
struct Counts {
  int recordings = 0, replays = 0;
};

class CountedRecording final : public GpuRecording {
 public:
  CountedRecording(std::unique_ptr<GpuRecording> recording, Counts& counts)
      : recording_(std::move(recording)), counts_(counts) {}
  Status replay() override { return ++counts_.replays, recording_->replay(); }

 private:
  std::unique_ptr<GpuRecording> recording_;
  Counts& counts_;
};

class CountingGpu final : public ForwardingGpu {
 public:
  CountingGpu(std::unique_ptr<Gpu> gpu, Counts& counts) : ForwardingGpu(std::move(gpu)), counts_(counts) {}
  Result<std::unique_ptr<GpuRecording>> end_recording() override {
    ASSIGN_OR_RETURN(auto recording, gpu_->end_recording());
    ++counts_.recordings;
    return std::unique_ptr<GpuRecording>(std::make_unique<CountedRecording>(std::move(recording), counts_));
  }

 private:
  Counts& counts_;
};

class CountingBackend final : public ForwardingBackend {
 public:
  Counts counts;

 private:
  std::unique_ptr<Gpu> wrap(std::unique_ptr<Gpu> gpu) override {
    return std::make_unique<CountingGpu>(std::move(gpu), counts);
  }
};

/// v = 0.75 v + 1 and the like, of a reference variable and of a resource one that is read twice; each step goes on
/// from the last.
std::vector<float> train(GpuBackend& backend, GpuExec exec, int steps) {
  GpuCase g(backend);
  std::vector<float> numbers(kElements);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const Shape shape{kElements};
  const Endpoint start = g.constant(Tensor::of<float>(shape, numbers), kGpu0),
                 half = g.constant(Tensor::of<float>(Shape{}, std::vector<float>{0.5f}), kGpu0);
  const std::vector<std::pair<std::string, AttrValue>> attrs{{"dtype", AttrValue::of(DType::kFloat)},
                                                             {"shape", AttrValue::of(shape)},
                                                             {"container", AttrValue::of(std::string())},
                                                             {"shared_name", AttrValue::of(std::string())}};
  const Endpoint v = g.add({"VariableV2", {}, attrs, {make_ref(DType::kFloat)}, {}, {}, kGpu0});
  const Endpoint h = g.add({"VarHandleOp", {}, attrs, {DType::kResource}, {}, {}, kGpu0});
  const std::vector<std::pair<std::string, AttrValue>> of_ref{{"validate_shape", AttrValue::of(true)},
                                                              {"use_locking", AttrValue::of(true)}};
  const std::vector<std::pair<std::string, AttrValue>> of_float{{"dtype", AttrValue::of(DType::kFloat)},
                                                                {"validate_shape", AttrValue::of(false)}};
  const Endpoint init_v = g.add(
      {"Assign", {v, start}, of_ref, {make_ref(DType::kFloat)}, {}, {make_ref(DType::kFloat), DType::kFloat}, kGpu0});
  const Endpoint init_h = g.add({"AssignVariableOp", {h, start}, of_float, {}, {}, {}, kGpu0});

  const Endpoint a = g.binary("Mul", v, half, kGpu0), b = g.binary("AddV2", a, v, kGpu0);
  const Endpoint read =
      g.add({"ReadVariableOp", {h}, {{"dtype", AttrValue::of(DType::kFloat)}}, {DType::kFloat}, {}, {}, kGpu0});
  const Endpoint c = g.binary("Sub", b, read, kGpu0);
  const Endpoint again =
      g.add({"ReadVariableOp", {h}, {{"dtype", AttrValue::of(DType::kFloat)}}, {DType::kFloat}, {c.node}, {}, kGpu0});
  const Endpoint d = g.binary("AddV2", c, again, kGpu0), e = g.binary("Mul", d, half, kGpu0),
                 f = g.binary("Maximum", e, half, kGpu0);
  const Endpoint write_v = g.add(
      {"Assign", {v, e}, of_ref, {make_ref(DType::kFloat)}, {f.node}, {make_ref(DType::kFloat), DType::kFloat}, kGpu0});
  const Endpoint write_h = g.add({"AssignVariableOp", {h, f}, of_float, {}, {write_v.node}, {}, kGpu0});

  SessionOptions options;
  options.gpu.exec = exec;
  options.fetches = {e, f};
  options.targets = {write_h.node};
  auto session = g.session(std::move(options));
  REQUIRE((session.ok() ? "" : session.status().message()) == "");
  Status ready = (*session)->run_nodes({init_v.node, init_h.node});
  REQUIRE((ready.ok() ? "" : ready.message()) == "");
  std::vector<float> all;
  std::vector<Tensor> outputs;
  for (int step = 0; step < steps; ++step) {
    Status ran = (*session)->step(outputs);
    REQUIRE((ran.ok() ? "" : ran.message()) == "");
    for (const Tensor& t : outputs) {
      const std::vector<float> values = floats(t);
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

TEST_CASE("what reads variables is recorded once and replayed in each step", "[host]") {
  CountingBackend backend;
  const std::vector<float> want = train(backend, GpuExec::kEager, 6);
  CHECK(backend.counts.recordings == 0);
  CHECK(train(backend, GpuExec::kGraph, 6) == want);
  CHECK(backend.counts.recordings == 1);
  CHECK(backend.counts.replays == 5);
  // 0.75 of its value and no more than half of it in the next step, by hand for the first element: 1.5 - 1 + 1 = 1.5,
  // half of it 0.75.
  CHECK(want[0] == 0.75f);
}

/// Memory without a limit, and how much of it was asked for.
class CountingPool final : public Allocator {
 public:
  Result<Tensor> allocate(DType dtype, const Shape& shape) override {
    bytes += shape.num_elements() * static_cast<int64_t>(dtype_size(dtype));
    return Tensor::allocate(dtype, shape);
  }
  int64_t bytes = 0;
};

TEST_CASE("scratch of a recording is handed on from launch to launch, and never to two at once", "[host]") {
  CountingPool pool;
  RecordedScratch scratch(pool, 1000);
  REQUIRE(scratch.reserve().ok());
  REQUIRE(scratch.reserve().ok());
  CHECK(pool.bytes == 1024);
  const void* first_place = nullptr;
  for (int launch = 0; launch < 3; ++launch) {
    Tensor a = scratch.allocate(DType::kFloat, Shape{65}).take(),
           b = scratch.allocate(DType::kUInt8, Shape{300}).take();
    const auto distance = static_cast<const char*>(b.raw()) - static_cast<const char*>(a.raw());
    CHECK(distance == 512);  // 260 bytes in whole pieces of 256
    if (launch == 0) first_place = a.raw();
    CHECK(a.raw() == first_place);
    CHECK(pool.bytes == 1024);
  }
  {
    // More than was said comes from the pool, and is kept for the next.
    Tensor a = scratch.allocate(DType::kUInt8, Shape{900}).take(),
           b = scratch.allocate(DType::kUInt8, Shape{200}).take(),
           c = scratch.allocate(DType::kUInt8, Shape{200}).take();
    CHECK(a.raw() == first_place);
    CHECK(b.raw() != c.raw());
    CHECK(pool.bytes == 1024 + 2 * 256);
  }
  Tensor a = scratch.allocate(DType::kUInt8, Shape{1000}).take(),
         b = scratch.allocate(DType::kUInt8, Shape{256}).take();
  CHECK(a.raw() == first_place);
  CHECK(pool.bytes == 1024 + 2 * 256);
}

/// Copies what an input says to an output.
class CopyOf final : public Kernel {
 public:
  explicit CopyOf(const float* const& from) : from_(from) {}
  Status run(KernelContext& c) override {
    return status_of(cudaMemcpyAsync(c.output(0).raw(), from_, c.output(0).size_bytes(), cudaMemcpyDeviceToDevice,
                                     static_cast<cudaStream_t>(c.stream_)),
                     "copy");
  }

 private:
  const float* const& from_;
};

class MovingInput final : public RunInputs {
 public:
  explicit MovingInput(const float* const& at) : at_(at) {}
  Status find(std::vector<const void*>& addresses) override { return addresses.push_back(at_), ok_status(); }
  void let_go() override {}

 private:
  const float* const& at_;
};

TEST_CASE("a run is recorded again where its input has moved, and launched piece by piece where that never ends",
          "[host]") {
  CountingBackend backend;
  auto gpu = backend.open({0, 0, int64_t{1} << 24}).take();
  auto device_array = [&](float value) {
    void* p = nullptr;
    REQUIRE(cudaMalloc(&p, 4) == cudaSuccess);
    REQUIRE(gpu->copy_in(p, &value, 4, Gpu::Lane::kCompute, nullptr).ok());
    return static_cast<float*>(p);
  };
  float* const places[] = {device_array(1), device_array(2)};
  float* const result = device_array(0);
  const float* from = places[0];
  CopyOf first(from), second(from);
  Tensor out = Tensor::wrap(DType::kFloat, Shape{1}, result);
  KernelContext context;
  context.outputs_ = {&out, 1};
  context.stream_ = gpu->stream();
  RecordedRun run({{&first, &context, nullptr, 0}, {&second, &context, nullptr, 1}},
                  std::make_unique<MovingInput>(from), *gpu, true);
  auto step = [&](int place) {
    from = places[place];
    REQUIRE(run.run(context).ok());
    float got = 0;
    auto ticket = gpu->copy_out(&got, result, 4, Gpu::Lane::kCompute);
    REQUIRE((ticket.ok() && gpu->finish(*ticket).ok()));
    return got;
  };
  CHECK(step(0) == 1);
  for (int i = 0; i < 3; ++i) CHECK(step(0) == 1);
  CHECK(backend.counts.recordings == 1);
  for (int i = 0; i < 3; ++i) CHECK(step(1) == 2);
  CHECK(backend.counts.recordings == 2);
  for (int i = 0; i < 20; ++i) CHECK(step(i % 2) == static_cast<float>(1 + i % 2));
  CHECK(backend.counts.recordings == 9);
  for (float* p : {places[0], places[1], result}) REQUIRE(cudaFree(p) == cudaSuccess);
}

/// Fails while it is told to.
class Failing final : public Kernel {
 public:
  explicit Failing(const bool& fails) : fails_(fails) {}
  Status run(KernelContext&) override { return fails_ ? unavailable("the part fails") : ok_status(); }

 private:
  const bool& fails_;
};
class LostInput final : public RunInputs {
 public:
  explicit LostInput(const bool& lost) : lost_(lost) {}
  Status find(std::vector<const void*>&) override { return lost_ ? unavailable("an input is lost") : ok_status(); }
  void let_go() override {}

 private:
  const bool& lost_;
};

TEST_CASE("a part is named for its own failure only, and only in the step of that", "[host]") {
  CountingBackend backend;
  auto gpu = backend.open({0, 0, int64_t{1} << 24}).take();
  for (bool finds : {false, true}) {
    bool fails = true, lost = false;
    Failing part(fails);
    KernelContext context;
    RecordedRun run({{&part, &context, nullptr, 7}}, finds ? std::make_unique<LostInput>(lost) : nullptr, *gpu, true);
    CHECK(run.run(context).message() == "the part fails");
    CHECK(run.failed_instruction() == 7);
    if (finds) {
      lost = true;
      CHECK(run.run(context).message() == "an input is lost");
      CHECK(run.failed_instruction() == kNoInstruction);
      lost = false;
    }
    REQUIRE(setenv("EMPLACE_STANDIN_FAILS", "cudaStreamBeginCapture=46", 1) == 0);
    CHECK_FALSE(run.run(context).ok());  // the second time it would be recorded
    CHECK(run.failed_instruction() == kNoInstruction);
    REQUIRE(unsetenv("EMPLACE_STANDIN_FAILS") == 0);
    CHECK_FALSE(run.run(context).ok());
    CHECK(run.failed_instruction() == 7);
    fails = false;
    CHECK(run.run(context).ok());
    CHECK(run.failed_instruction() == kNoInstruction);
  }
}

/// Fails in its second run, and notes the steps.
class FailingOnce final : public Kernel {
 public:
  Status run(KernelContext& c) override {
    steps.push_back(c.step());
    return steps.size() == 2 ? unavailable("not in a recording") : ok_status();
  }
  std::vector<int64_t> steps;
};

TEST_CASE("a part that cannot be recorded has not failed, and runs in the same step", "[host]") {
  CountingBackend backend;
  auto gpu = backend.open({0, 0, int64_t{1} << 24}).take();
  FailingOnce part;
  KernelContext of_part, of_run;
  RecordedRun run({{&part, &of_part, nullptr, 7}}, nullptr, *gpu, false);
  for (int64_t step : {4, 5, 6}) {
    of_run.step_ = step;
    CHECK(run.run(of_run).ok());
    CHECK(run.failed_instruction() == kNoInstruction);
  }
  CHECK(part.steps == std::vector<int64_t>{4, 5, 5, 6});
}

TEST_CASE("a recording keeps no event of the branches that it was made with", "[host]") {
  CountingBackend backend;
  auto gpu = backend.open({0, 0, int64_t{1} << 24}).take();
  const bool never = false;
  Failing a(never), b(never), c(never);
  KernelContext context;
  RecordedRun run({{&a, &context, nullptr, 0}, {&b, &context, nullptr, 1, 1, {0}}, {&c, &context, nullptr, 2, 0, {1}}},
                  nullptr, *gpu, true);
  const uint64_t before = standin::open_things().events;
  for (int step = 0; step < 3; ++step) CHECK(run.run(context).ok());
  CHECK(backend.counts.recordings == 1);
  CHECK(standin::open_things().events == before);
}

}  // namespace
}  // namespace emplace::cuda::testing
