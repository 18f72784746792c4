// cuDNN's handles, which tie its own streams to the priority of the stream that was set last: each logical GPU has its
// own. By functions in cuDNN's place, which note what they are called with.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <map>
#include <vector>

#include "cuda/cudnn_plan.h"
#include "cuda/gpu.h"

namespace emplace::cuda::testing {
namespace {

using cudnn::Handle;

struct Calls {
  std::vector<Handle> made;
  std::map<Handle, std::vector<cudaStream_t>> streams;
  std::vector<std::pair<Handle, cudaStream_t>> executed;
};
Calls calls;

Handle number(size_t n) { return reinterpret_cast<Handle>(n); }

/// One engine that breaks no promise and takes no workspace.
cudnn::Functions noting() {
  cudnn::Functions f;
  f.create = [](Handle* handle) {
    calls.made.push_back(*handle = number(calls.made.size() + 1));
    return 0;
  };
  f.set_stream = [](Handle handle, cudaStream_t stream) {
    calls.streams[handle].push_back(stream);
    return 0;
  };
  f.error_text = [](cudnn::StatusCode) { return ""; };
  f.last_error = [](char* text, size_t) { *text = 0; };
  f.create_descriptor = [](cudnn::Kind, cudnn::DescriptorHandle* made) {
    *made = new int;
    return 0;
  };
  f.destroy_descriptor = [](cudnn::DescriptorHandle made) {
    delete static_cast<int*>(made);
    return 0;
  };
  f.finalize = [](cudnn::DescriptorHandle) { return 0; };
  f.set = [](cudnn::DescriptorHandle, cudnn::Attribute, cudnn::Type, int64_t, const void*) { return 0; };
  f.get = [](cudnn::DescriptorHandle, cudnn::Attribute what, cudnn::Type, int64_t, int64_t* count, void* values) {
    *count = what == cudnn::Attribute::kEngineNotes ? 0 : 1;
    if (what == cudnn::Attribute::kPlanWorkspace) *static_cast<int64_t*>(values) = 0;
    return 0;
  };
  f.execute = [](Handle handle, cudnn::DescriptorHandle, cudnn::DescriptorHandle) {
    calls.executed.emplace_back(handle, calls.streams[handle].back());
    return 0;
  };
  return f;
}

ConvProblem small_convolution(int64_t channels) {
  ConvShape s;
  s.batch = 1;
  s.in_h = s.in_w = s.out_h = s.out_w = 4;
  s.window_h = s.window_w = s.stride_h = s.stride_w = s.dilation_h = s.dilation_w = 1;
  s.in_c = s.filter_c = s.out_c = channels;
  return ConvProblem::of(ConvPass::kForward, DType::kFloat, s, true);
}

struct LogicalGpu {
  explicit LogicalGpu(int priority = 0) : gpu(CudaGpu::open({0, priority, int64_t{16} << 20}).take()) {}
  const DeviceState& state() const { return *static_cast<const DeviceState*>(gpu->kernel_state()); }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(gpu->stream()); }
  std::unique_ptr<Gpu> gpu;
};

TEST_CASE("a logical GPU's convolutions set the stream of its own handle of cuDNN", "[host]") {
  const cudnn::Functions f = noting();
  const ConvProblem problem = small_convolution(1);
  calls = {};
  auto plan_for = [&](const LogicalGpu& gpu) { return cudnn::make_plan(f, problem, gpu.state()).take(); };
  const LogicalGpu first, urgent(-1);
  const auto a = plan_for(first), b = plan_for(urgent);
  {
    const LogicalGpu like_first;
    const auto c = plan_for(like_first);
    for (const auto& [plan, gpu] : {std::pair(&a, &first), {&b, &urgent}, {&c, &like_first}, {&a, &first}})
      REQUIRE((*plan)->run(gpu->stream(), {}, nullptr).message() == "");
    CHECK(calls.executed == std::vector<std::pair<Handle, cudaStream_t>>{{number(1), first.stream()},
                                                                         {number(2), urgent.stream()},
                                                                         {number(3), like_first.stream()},
                                                                         {number(1), first.stream()}});
    CHECK(calls.streams[number(2)] == std::vector{urgent.stream()});
  }
  const LogicalGpu next;  // in the place of one that is gone
  REQUIRE(plan_for(next)->run(next.stream(), {}, nullptr).ok());
  CHECK(calls.made.size() == 3);
  CHECK(calls.executed.back() == std::pair(number(3), next.stream()));
}

TEST_CASE("plans that are kept are a logical GPU's own", "[host]") {
  setenv("EMPLACE_STANDIN_CUDNN", "1", 1);
  const ConvProblem problem = small_convolution(3);
  const LogicalGpu first, second, urgent(-1);
  auto plan_for = [&](const LogicalGpu& gpu) { return ConvPlan::find(problem, gpu.state()).take(); };
  CHECK(plan_for(first) == plan_for(first));
  CHECK(plan_for(first) != plan_for(second));
  CHECK(plan_for(first) != plan_for(urgent));
  DeviceState same_place = first.state();
  same_place.stream_priority = -1;  // another GPU in this place later
  CHECK(plan_for(first) != ConvPlan::find(problem, same_place).take());
  unsetenv("EMPLACE_STANDIN_CUDNN");
}

}  // namespace
}  // namespace emplace::cuda::testing
