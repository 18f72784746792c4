// Pooling, normalisation, resizing, and rows combined by number: the plug-in's kernels against the CPU's.
#include <catch2/catch.hpp>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

AttrValue list(std::vector<int64_t> values) { return AttrValue::list_of<int64_t>(AttrKind::kInt, std::move(values)); }
AttrValue text(std::string value) { return AttrValue::of(std::move(value)); }
Tensor ints(std::vector<int32_t> values) {
  return Tensor::of<int32_t>(Shape{static_cast<int64_t>(values.size())}, values);
}
Tensor floats(DType t, Shape shape, uint64_t seed = 1) { return uniform(t, std::move(shape), -2, 2, seed); }
Tensor positive(Shape shape, uint64_t seed = 1) { return uniform(DType::kFloat, std::move(shape), 0.5, 2, seed); }

TEST_CASE("windows over images, and their gradients") {
  for (const char* padding : {"SAME", "VALID"}) {
    for (int64_t stride : {1, 2, 3}) {
      const AttrList attrs{{"ksize", list({1, 3, 2, 1})},
                           {"strides", list({1, stride, stride, 1})},
                           {"padding", text(padding)},
                           {"explicit_paddings", list({})},
                           {"data_format", text("NHWC")}};
      auto pooled = [&](int64_t n, int64_t k) {
        return padding[0] == 'S' ? (n + stride - 1) / stride : (n - k) / stride + 1;
      };
      const Tensor image = floats(DType::kFloat, Shape{2, 9, 8, 3}),
                   gradient = positive(Shape{2, pooled(9, 3), pooled(8, 2), 3}, 2);
      INFO(padding << ", stride " << stride);
      CHECK(check({"MaxPool", {image}, attrs}) == "");
      CHECK(check({"AvgPool", {positive(Shape{2, 9, 8, 3})}, attrs}, 8) == "");
      CHECK(check({"MaxPoolGrad", {image, gradient, gradient}, attrs}, 8) == "");
    }
  }
}

TEST_CASE("batch normalisation in both layouts, in training and not") {
  for (const char* format : {"NHWC", "NCHW"}) {
    for (bool training : {false, true}) {
      const AttrList attrs{{"epsilon", AttrValue::of(0.001f)},
                           {"exponential_avg_factor", AttrValue::of(1.0f)},
                           {"data_format", text(format)},
                           {"is_training", AttrValue::of(training)}};
      const Shape shape = format[3] == 'C' ? Shape{3, 20, 7, 4} : Shape{3, 4, 20, 7};
      const Tensor image = positive(shape), channel = positive(Shape{4}, 3);
      const std::vector<DType> six(6, DType::kFloat), five(5, DType::kFloat);
      INFO(format << ", training " << training);
      const KernelCase c{
          "FusedBatchNormV3", {image, channel, positive(Shape{4}, 4), channel, positive(Shape{4}, 5)}, attrs, six};
      CHECK(check_by_largest(c, 16) == "");
    }
  }
}

TEST_CASE("resizing, and the way back") {
  for (bool align : {false, true}) {
    for (bool half_pixel : {false, true}) {
      if (align && half_pixel) continue;
      const AttrList attrs{{"align_corners", AttrValue::of(align)}, {"half_pixel_centers", AttrValue::of(half_pixel)}};
      for (auto [height, width] : {std::pair{13, 4}, std::pair{3, 17}, std::pair{1, 1}}) {
        INFO("align " << align << ", half " << half_pixel << ", to " << height << " x " << width);
        const Tensor small = positive(Shape{2, 5, 7, 3}), large = positive(Shape{2, height, width, 3}, 2);
        CHECK(check({"ResizeBilinear", {small, ints({height, width})}, attrs}, 8) == "");
        CHECK(check({"ResizeNearestNeighbor", {small, ints({height, width})}, attrs}) == "");
        CHECK(check({"ResizeBilinearGrad", {large, small}, attrs}, 64) == "");
        CHECK(check({"ResizeNearestNeighborGrad", {large, ints({5, 7})}, attrs}, 8) == "");
      }
    }
  }
}

TEST_CASE("responses normalised over neighbouring channels") {
  const AttrList attrs{{"depth_radius", AttrValue::of(int64_t{2})},
                       {"bias", AttrValue::of(1.0f)},
                       {"alpha", AttrValue::of(0.5f)},
                       {"beta", AttrValue::of(0.75f)}};
  const Tensor image = positive(Shape{2, 3, 4, 9});
  CHECK(check({"LRN", {image}, attrs}, 16) == "");
}

TEST_CASE("rows combined by the number they carry") {
  const Tensor data = positive(Shape{9, 4}), sorted = ints({0, 0, 1, 1, 1, 3, 3, 4, 6}),
               mixed = ints({5, 0, -1, 5, 2, 2, 0, 5, 3});
  for (auto op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    INFO(op);
    CHECK(check({op, {data, sorted}}, 4) == "");
  }
  for (auto op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    INFO(op);
    CHECK(check({op, {data, mixed, Tensor::scalar<int32_t>(7)}}, 4) == "");
  }
}

TEST_CASE("the CPU's kernels move what a mover moves, and multiply what it multiplies") {
  const AttrList einsum{{"equation", text("bqd,bkd->bqk")}, {"T", AttrValue::of(DType::kFloat)}};
  CHECK(check({"Einsum", {positive(Shape{2, 5, 7}), positive(Shape{2, 6, 7}, 2)}, einsum}, 16) == "");
  const Tensor pads = Tensor::of<int32_t>(Shape{2, 2}, std::vector<int32_t>{2, 1, 0, 3});
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    CHECK(check({"MirrorPad", {floats(DType::kFloat, Shape{4, 5}), pads}, {{"mode", text(mode)}}}) == "");
    CHECK(check({"MirrorPadGrad", {positive(Shape{7, 8}), pads}, {{"mode", text(mode)}}}, 4) == "");
  }
  const Tensor band = ints({-1, 2});
  const AttrList align{{"align", text("RIGHT_LEFT")}};
  CHECK(check({"MatrixDiagPartV3", {floats(DType::kFloat, Shape{3, 4, 5}), band, Tensor::scalar<float>(9)}, align}) ==
        "");
  CHECK(check({"MatrixSetDiagV3",
               {floats(DType::kFloat, Shape{3, 4, 5}), floats(DType::kFloat, Shape{3, 4, 4}, 2), band},
               align}) == "");
}

}  // namespace
}  // namespace emplace::cuda::testing
