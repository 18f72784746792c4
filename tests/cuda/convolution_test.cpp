// Convolutions where a library has a plan for them (the stand-in's, a loop over all taps): the plug-in's part of the
// work, filters brought into the library's layout and back, workspaces, what is fused behind. Against the CPU's
// kernels.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "core/base/cat.h"
#include "cuda/conv_plan.h"
#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

AttrValue list(std::vector<int64_t> values) { return AttrValue::list_of<int64_t>(AttrKind::kInt, std::move(values)); }
Tensor ints(const Shape& s) {
  std::vector<int32_t> dims;
  for (int64_t d : s.dims()) dims.push_back(static_cast<int32_t>(d));
  return Tensor::of<int32_t>(Shape{4}, dims);
}
Tensor draw(DType t, Shape shape, uint64_t seed) { return uniform(t, std::move(shape), -1, 1, seed); }

/// The stand-in's library, while alive. Sizes here are this file's own: what was asked before is remembered.
struct WithLibrary {
  WithLibrary() { setenv("EMPLACE_STANDIN_CUDNN", "1", 1); }
  ~WithLibrary() { unsetenv("EMPLACE_STANDIN_CUDNN"); }
};

struct Sizes {
  int64_t height, width, channels, groups, out, window_h, window_w, stride, dilation;
  std::string padding;
};
constexpr int64_t kBatch = 2;

Shape image(const Sizes& s, bool last) {
  return last ? Shape{kBatch, s.height, s.width, s.channels * s.groups}
              : Shape{kBatch, s.channels * s.groups, s.height, s.width};
}
Shape filter(const Sizes& s) { return {s.window_h, s.window_w, s.channels, s.out}; }
Shape output(const Sizes& s, bool last) {
  auto size = [&](int64_t in, int64_t window) {
    return window_axis(in, window, s.dilation, s.stride, s.padding).take().out;
  };
  const int64_t h = size(s.height, s.window_h), w = size(s.width, s.window_w);
  return last ? Shape{kBatch, h, w, s.out} : Shape{kBatch, s.out, h, w};
}
AttrList attrs(const Sizes& s, bool last) {
  auto both = [&](int64_t n) { return last ? list({1, n, n, 1}) : list({1, 1, n, n}); };
  return {{"strides", both(s.stride)},
          {"dilations", both(s.dilation)},
          {"padding", AttrValue::of(s.padding)},
          {"explicit_paddings", list({})},
          {"data_format", AttrValue::of(std::string(last ? "NHWC" : "NCHW"))}};
}

const Sizes kSizes[] = {{13, 11, 3, 1, 5, 3, 2, 2, 1, "SAME"},
                        {9, 14, 2, 2, 6, 2, 3, 1, 2, "VALID"},
                        {8, 8, 4, 1, 3, 1, 1, 1, 1, "SAME"},
                        {8, 8, 1, 3, 3, 3, 3, 2, 1, "SAME"}};

template <class T>
using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T>
double wide(T v) {
  return static_cast<double>(static_cast<Number<T>>(v));
}
template <class T>
constexpr double kEpsilon = std::is_same_v<T, double>  ? 0x1p-52
                            : std::is_same_v<T, float> ? 0x1p-23
                            : std::is_same_v<T, half>  ? 0x1p-10
                                                       : 0x1p-7;

template <class T>
Tensor magnitudes(const Tensor& t) {
  if (t.dtype() != dtype_of<T>) return t;
  Tensor out = Tensor::allocate(t.dtype(), t.shape()).take();
  for (int64_t i = 0; i < t.num_elements(); ++i)
    out.data<T>()[i] = T(static_cast<Number<T>>(std::abs(wide(t.data<T>()[i]))));
  return out;
}

/// Empty if both sum up the same products: in any order they differ by few roundings of the sum of the products'
/// magnitudes, which is what the op makes of the inputs' magnitudes.
template <class T>
std::string check_sums(KernelCase c) {
  Result<Answers> answers = run(c);
  for (Tensor& t : c.inputs) t = magnitudes<T>(t);
  Result<Answers> largest = run(c);
  if (!answers.ok() || !largest.ok()) return (answers.ok() ? largest : answers).status().message();
  const Tensor &cpu = answers->cpu[0], &gpu = answers->gpu[0], &sums = largest->cpu[0];
  for (int64_t i = 0; i < cpu.num_elements(); ++i) {
    const double want = wide(cpu.data<T>()[i]), got = wide(gpu.data<T>()[i]), sum = wide(sums.data<T>()[i]);
    if (!(std::abs(got - want) <= 4 * kEpsilon<T> * sum))
      return cat(c.op, " element ", i, ": ", got, ", the CPU has ", want, ", of products that sum up to ", sum);
  }
  return {};
}

TEMPLATE_TEST_CASE("convolutions and both gradients by a library", "", float, double, half, bfloat16) {
  WithLibrary library;
  constexpr DType t = dtype_of<TestType>;
  for (const Sizes& s : kSizes) {
    for (bool last : {true, false}) {
      INFO(image(s, last).to_string() << " * " << filter(s).to_string());
      CHECK(check_sums<TestType>({"Conv2D", {draw(t, image(s, last), 1), draw(t, filter(s), 2)}, attrs(s, last)}) ==
            "");
      CHECK(check_sums<TestType>({"Conv2DBackpropInput",
                                  {ints(image(s, last)), draw(t, filter(s), 2), draw(t, output(s, last), 3)},
                                  attrs(s, last),
                                  {t},
                                  t}) == "");
      CHECK(check_sums<TestType>({"Conv2DBackpropFilter",
                                  {draw(t, image(s, last), 1), ints(filter(s)), draw(t, output(s, last), 3)},
                                  attrs(s, last),
                                  {t},
                                  t}) == "");
    }
  }
}

TEST_CASE("gradients of convolutions in groups by the plug-in's own kernels") {
  constexpr DType t = DType::kFloat;
  for (const Sizes& s : {Sizes{10, 7, 2, 3, 6, 3, 2, 2, 1, "SAME"}, Sizes{6, 9, 1, 4, 8, 2, 2, 1, 2, "VALID"}}) {
    for (bool last : {true, false}) {
      CHECK(check_sums<float>({"Conv2D", {draw(t, image(s, last), 1), draw(t, filter(s), 2)}, attrs(s, last)}) == "");
      CHECK(check_sums<float>({"Conv2DBackpropInput",
                               {ints(image(s, last)), draw(t, filter(s), 2), draw(t, output(s, last), 3)},
                               attrs(s, last),
                               {t},
                               t}) == "");
      CHECK(check_sums<float>({"Conv2DBackpropFilter",
                               {draw(t, image(s, last), 1), ints(filter(s)), draw(t, output(s, last), 3)},
                               attrs(s, last),
                               {t},
                               t}) == "");
    }
  }
}

TEMPLATE_TEST_CASE("what is fused behind a library's convolution", "", float, double) {
  WithLibrary library;
  constexpr DType t = dtype_of<TestType>;
  const Sizes s{7, 12, 3, 1, 4, 3, 3, 1, 1, "SAME"};
  AttrList a = attrs(s, true);
  a.insert(a.end(), {{"num_args", AttrValue::of(int64_t{1})},
                     {"fused_ops", AttrValue::list_of<std::string>(AttrKind::kString, {"BiasAdd", "Relu"})},
                     {"epsilon", AttrValue::of(0.0f)},
                     {"leakyrelu_alpha", AttrValue::of(0.2f)},
                     {"use_cudnn_on_gpu", AttrValue::of(true)},
                     {"num_host_args", AttrValue::of(int64_t{0})},
                     {"filter_format", AttrValue::of(std::string("HWIO"))}});
  CHECK(check_sums<TestType>(
            {"_FusedConv2D", {draw(t, image(s, true), 1), draw(t, filter(s), 2), draw(t, Shape{s.out}, 4)}, a}) == "");
}

TEST_CASE("a problem has one plan, which is asked for once") {
  ConvShape s;
  s.batch = 1, s.in_h = s.in_w = 17, s.in_c = s.filter_c = s.out_c = 2, s.window_h = s.window_w = 1,
  s.out_h = s.out_w = 17;
  const ConvProblem forward = ConvProblem::of(ConvPass::kForward, DType::kFloat, s, true),
                    filter_gradient = ConvProblem::of(ConvPass::kFilterGradient, DType::kFloat, s, true);
  CHECK(ConvPlan::find(forward, {}).status().code() == Code::kUnavailable);
  WithLibrary library;
  CHECK_FALSE(ConvPlan::find(forward, {}).ok());
  auto plan = ConvPlan::find(filter_gradient, {});
  REQUIRE(plan.ok());
  CHECK(ConvPlan::find(filter_gradient, {}).take() == *plan);
  CHECK(ConvPlan::find(filter_gradient, {.tf32 = true}).take() != *plan);
}

}  // namespace
}  // namespace emplace::cuda::testing
