#include <catch2/catch.hpp>

#include "core/ops/conv/conv_shape.h"
#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using Floats = std::vector<float>;

OpCase pool(std::string_view op, std::string_view padding, int64_t window, int64_t stride) {
  OpCase c(op);
  c.attr("ksize", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, window, window, 1}));
  c.attr("strides", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, stride, stride, 1}));
  c.attr("padding", AttrValue::of(std::string(padding))).attr("data_format", AttrValue::of(std::string("NHWC")));
  return c;
}

Floats result(OpCase& c) {
  auto y = c.out(DType::kFloat).run();
  INFO(y.status().message());
  REQUIRE(y.ok());
  return values<float>((*y)[0]);
}

Tensor image() { return tensor<float>({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}); }

}  // namespace

TEST_CASE("pooling covers only real cells") {
  OpCase max = pool("MaxPool", "SAME", 2, 2).in(image());
  CHECK(result(max) == Floats{5, 6, 8, 9});
  OpCase mean = pool("AvgPool", "SAME", 2, 2).in(image());
  CHECK(result(mean) == Floats{3, 4.5, 7.5, 9});
}

TEST_CASE("a window of 10^18 cells is as good as one that covers the image") {
  OpCase max = pool("MaxPool", "SAME", 1000000000000000000, 1).in(image());
  CHECK(result(max) == Floats(9, 9));
}

TEST_CASE("a gradient of MaxPool goes to the first of equal cells") {
  Tensor flat = tensor<float>({1, 2, 2, 1}, {1, 1, 1, 1});
  Tensor top = tensor<float>({1, 1, 1, 1}, {1});
  OpCase grad = pool("MaxPoolGrad", "VALID", 2, 1).in(flat).in(top).in(tensor<float>({1, 1, 1, 1}, {5}));
  CHECK(result(grad) == Floats{5, 0, 0, 0});
}

TEST_CASE("where windows do not overlap, the gradient of MaxPool reaches their largest cells and no other") {
  for (std::string_view padding : {"VALID", "SAME"})
    for (int64_t channels : {1, 16, 37})
      for (int64_t window : {2, 3})
        for (int64_t stride : {window, window + 2}) {
          INFO(padding << ", " << channels << " channels, window " << window << ", stride " << stride);
          constexpr int64_t kBatch = 2, kHeight = 7, kWidth = 8;
          const WindowAxis h = window_axis(kHeight, window, 1, stride, padding).take(),
                           w = window_axis(kWidth, window, 1, stride, padding).take();
          Floats cells(static_cast<size_t>(kBatch * kHeight * kWidth * channels)),
              top(static_cast<size_t>(kBatch * h.out * w.out * channels));
          for (size_t i = 0; i < cells.size(); ++i) cells[i] = static_cast<float>(i * 7919 % 13);
          for (size_t i = 0; i < top.size(); ++i) top[i] = static_cast<float>(i + 1);
          Floats want(cells.size());
          for (int64_t i = 0; i < static_cast<int64_t>(top.size()); ++i) {
            const int64_t k = i % channels, ow = i / channels % w.out, oh = i / channels / w.out % h.out,
                          n = i / channels / w.out / h.out;
            int64_t best = -1;
            for (int64_t y = std::max<int64_t>(0, oh * stride - h.pad_before);
                 y < std::min(kHeight, oh * stride - h.pad_before + window); ++y)
              for (int64_t x = std::max<int64_t>(0, ow * stride - w.pad_before);
                   x < std::min(kWidth, ow * stride - w.pad_before + window); ++x) {
                const int64_t at = ((n * kHeight + y) * kWidth + x) * channels + k;
                if (best < 0 || cells[static_cast<size_t>(at)] > cells[static_cast<size_t>(best)]) best = at;
              }
            want[static_cast<size_t>(best)] += top[static_cast<size_t>(i)];
          }
          const Shape pooled{kBatch, h.out, w.out, channels};
          OpCase grad = pool("MaxPoolGrad", padding, window, stride)
                            .in(tensor<float>({kBatch, kHeight, kWidth, channels}, cells));
          grad.in(tensor<float>(pooled, top)).in(tensor<float>(pooled, top));
          CHECK(result(grad) == want);
        }
}

TEST_CASE("BiasAdd and BiasAddGrad of any number of channels") {
  for (int64_t channels : {1, 3, 31, 32, 40, 47, 48, 100}) {
    INFO(channels << " channels");
    constexpr int64_t kRows = 1300;
    Floats x(static_cast<size_t>(kRows * channels)), bias(static_cast<size_t>(channels)), sum(bias.size()),
        shifted(x.size());
    for (size_t k = 0; k < bias.size(); ++k) bias[k] = static_cast<float>(k) + 0.5f;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i * 7919 % 16);  // sums are exact
      shifted[i] = x[i] + bias[i % bias.size()];
      sum[i % bias.size()] += x[i];
    }
    OpCase add = OpCase("BiasAdd").in(tensor<float>({kRows, channels}, x)).in(tensor<float>({channels}, bias));
    CHECK(result(add) == shifted);
    OpCase grad = OpCase("BiasAddGrad").in(tensor<float>({kRows, channels}, x));
    CHECK(result(grad) == sum);
  }
}

TEST_CASE("BiasAdd finds the channels in either layout") {
  OpCase last = OpCase("BiasAdd").in(tensor<float>({1, 2, 2}, {1, 2, 3, 4})).in(tensor<float>({2}, {10, 20}));
  last.attr("data_format", AttrValue::of(std::string("NHWC")));
  CHECK(result(last) == Floats{11, 22, 13, 24});
  OpCase first = OpCase("BiasAdd").in(tensor<float>({1, 2, 2}, {1, 2, 3, 4})).in(tensor<float>({2}, {10, 20}));
  first.attr("data_format", AttrValue::of(std::string("NCHW")));
  CHECK(result(first) == Floats{11, 12, 23, 24});
}

TEST_CASE("ResizeBilinear samples at i * in / out unless told otherwise") {
  OpCase c = OpCase("ResizeBilinear").in(tensor<float>({1, 1, 2, 1}, {0, 4})).in(ints({1, 4}));
  c.attr("align_corners", AttrValue::of(false)).attr("half_pixel_centers", AttrValue::of(false));
  CHECK(result(c) == Floats{0, 2, 4, 4});
}
