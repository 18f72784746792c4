// Kernels of gradients over images: the plug-in's against the CPU's, of every type in the table.
#include <catch2/catch.hpp>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

AttrValue list(std::vector<int64_t> values) { return AttrValue::list_of<int64_t>(AttrKind::kInt, std::move(values)); }
AttrValue text(std::string value) { return AttrValue::of(std::move(value)); }
bool is_narrow(DType t) { return t == DType::kHalf || t == DType::kBFloat16; }

struct Window {
  Shape image;
  int64_t height, width, stride;
};
// One cell, one past a block, windows larger than their stride and smaller, an empty batch.
const Window kWindows[] = {{{1, 1, 1, 1}, 1, 1, 1},  {{1, 257, 1, 1}, 1, 1, 1}, {{2, 9, 8, 3}, 3, 2, 2},
                           {{1, 7, 11, 5}, 2, 3, 3}, {{3, 20, 20, 7}, 3, 3, 1}, {{0, 4, 4, 2}, 2, 2, 2}};

int64_t windows(int64_t size, int64_t window, int64_t stride, bool same) {
  return same ? (size + stride - 1) / stride : (size - window) / stride + 1;
}

TEST_CASE("pooling and its gradients: every type, windows that overlap and that leave gaps") {
  for (bool same : {false, true}) {
    for (const Window& w : kWindows) {
      const AttrList attrs{{"ksize", list({1, w.height, w.width, 1})},
                           {"strides", list({1, w.stride, w.stride, 1})},
                           {"padding", text(same ? "SAME" : "VALID")},
                           {"explicit_paddings", list({})},
                           {"data_format", text("NHWC")}};
      const Shape pooled{w.image.dim(0), windows(w.image.dim(1), w.height, w.stride, same),
                         windows(w.image.dim(2), w.width, w.stride, same), w.image.dim(3)};
      for (DType t : types_of("MaxPoolGrad")) {
        INFO(w.image.to_string() << " by " << w.height << " x " << w.width << ", stride " << w.stride
                                 << (same ? ", SAME " : ", VALID ") << dtype_name(t));
        const Tensor cells = uniform(t, w.image, -2, 2), gradient = uniform(t, pooled, 0.5, 2, 2);
        CHECK(check({"MaxPool", {cells}, attrs}) == "");
        CHECK(check({"MaxPoolGrad", {cells, gradient, gradient}, attrs}, is_narrow(t) ? 2 : 8) == "");
        CHECK(check({"AvgPool", {uniform(t, w.image, 0.5, 2)}, attrs}, 8) == "");
        if (w.image.num_elements() == 0) continue;
        AttrList with_places = attrs;
        with_places.emplace_back("include_batch_in_index", AttrValue::of(same));
        const KernelCase places{"MaxPoolWithArgmax", {cells}, with_places, {t, DType::kInt64}};
        CHECK(check(places) == "");
        const auto found = run(places);
        REQUIRE(found.ok());
        CHECK(check({"MaxPoolGradWithArgmax", {cells, gradient, found->cpu[1]}, with_places}, is_narrow(t) ? 2 : 8) ==
              "");
        const Tensor shape = Tensor::of<int32_t>(
            Shape{4}, std::vector<int32_t>{static_cast<int32_t>(w.image.dim(0)), static_cast<int32_t>(w.image.dim(1)),
                                           static_cast<int32_t>(w.image.dim(2)), static_cast<int32_t>(w.image.dim(3))});
        CHECK(check({"AvgPoolGrad", {shape, gradient}, attrs, {t}, t}, 8) == "");
      }
    }
  }
}

TEST_CASE("dilation and its gradients: cells and taps that are chosen often, and windows that reach out") {
  for (bool same : {false, true}) {
    const AttrList attrs{
        {"strides", list({1, 2, 1, 1})}, {"rates", list({1, 1, 2, 1})}, {"padding", text(same ? "SAME" : "VALID")}};
    for (DType t : types_of("Dilation2D")) {
      const Tensor image = uniform(t, Shape{2, 17, 19, 5}, -2, 2), filter = uniform(t, Shape{3, 2, 5}, -2, 2);
      const Tensor gradient = uniform(t, same ? Shape{2, 9, 19, 5} : Shape{2, 8, 17, 5}, 0.5, 2, 2);
      INFO(dtype_name(t) << (same ? " SAME" : " VALID"));
      CHECK(check({"Dilation2D", {image, filter}, attrs}) == "");
      CHECK(check({"Dilation2DBackpropInput", {image, filter, gradient}, attrs}, is_narrow(t) ? 2 : 8) == "");
      CHECK(check_by_largest({"Dilation2DBackpropFilter", {image, filter, gradient}, attrs}, 32) == "");
    }
  }
}

TEST_CASE("the first of equally large cells has the gradient") {
  const AttrList attrs{{"ksize", list({1, 2, 2, 1})},
                       {"strides", list({1, 1, 1, 1})},
                       {"padding", text("SAME")},
                       {"explicit_paddings", list({})},
                       {"data_format", text("NHWC")}};
  Tensor image = Tensor::allocate(DType::kFloat, Shape{1, 6, 6, 2}).take();
  for (int64_t i = 0; i < image.num_elements(); ++i) image.data<float>()[i] = static_cast<float>(i * 7 % 3);
  const Tensor gradient = uniform(DType::kFloat, Shape{1, 6, 6, 2}, 1, 2);
  CHECK(check({"MaxPoolGrad", {image, gradient, gradient}, attrs}, 4) == "");
}

TEST_CASE("the second gradient of max pooling: the first of equal cells, and none that lies beyond the window") {
  const AttrList attrs{{"ksize", list({1, 2, 2, 1})},
                       {"strides", list({1, 2, 2, 1})},
                       {"padding", text("VALID")},
                       {"data_format", text("NHWC")}};
  const Shape shape{1, 4, 4, 1};
  // The 9 is below the second window and to the right of the third.
  const float cells[] = {5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 9, 1, 1, 1, 1, 1}, results[] = {5, 9, 9, 9};
  const KernelCase c{"MaxPoolGradGrad",
                     {Tensor::of<float>(shape, cells), Tensor::of<float>(Shape{1, 2, 2, 1}, results),
                      uniform(DType::kFloat, shape, 1, 2)},
                     attrs};
  const auto answers = run(c);
  REQUIRE(answers.ok());
  const float *got = answers->gpu[0].data<float>(), *arrived = c.inputs[2].data<float>();
  CHECK(std::vector(got, got + 4) == std::vector<float>{arrived[0], 0, 0, arrived[10]});
  CHECK(check(c) == "");
}

TEST_CASE("pooling over channels") {
  const AttrList attrs{{"ksize", list({1, 1, 1, 4})},
                       {"strides", list({1, 1, 1, 4})},
                       {"padding", text("VALID")},
                       {"explicit_paddings", list({})},
                       {"data_format", text("NHWC")}};
  for (DType t : types_of("MaxPool"))
    CHECK(check({"MaxPool", {uniform(t, Shape{1, 16, 16, 12}, -9, -1)}, attrs}) == "");
}

TEST_CASE("responses normalised over channels, and the gradient") {
  for (int64_t radius : {0, 1, 2, 9}) {
    const AttrList attrs{{"depth_radius", AttrValue::of(radius)},
                         {"bias", AttrValue::of(1.5f)},
                         {"alpha", AttrValue::of(0.5f)},
                         {"beta", AttrValue::of(0.75f)}};
    for (const Shape& shape : {Shape{2, 3, 4, 9}, Shape{1, 1, 257, 1}, Shape{1, 16, 16, 3}, Shape{0, 2, 2, 3}}) {
      for (DType t : types_of("LRNGrad")) {
        INFO(shape.to_string() << ", radius " << radius << " " << dtype_name(t));
        const Tensor image = uniform(t, shape, 0.5, 2), response = uniform(t, shape, 0.2, 0.9, 3),
                     gradient = uniform(t, shape, 1, 2, 2);
        CHECK(check({"LRN", {image}, attrs}, 16) == "");
        // The difference of two sums of like size.
        CHECK(check({"LRNGrad", {gradient, image, response}, attrs}, is_narrow(t) ? 64 : 512) == "");
      }
    }
  }
}

TEST_CASE("gradients of batch normalisation: both layouts, channels one by one and hundreds of elements each") {
  for (std::string_view op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    for (DType t : types_of(op)) {
      for (bool channels_first : {false, true}) {
        for (bool training : {false, true}) {
          for (const auto [images, height, width] :
               std::initializer_list<std::array<int64_t, 3>>{{1, 1, 1}, {3, 2, 1}, {3, 2, 7}, {3, 2, 130}}) {
            INFO(op << " " << dtype_name(t) << (channels_first ? " NCHW" : " NHWC")
                    << (training ? ", training, " : ", ") << images << " of " << width << " wide");
            AttrList attrs{{"epsilon", AttrValue::of(0.001f)},
                           {"data_format", text(channels_first ? "NCHW" : "NHWC")},
                           {"is_training", AttrValue::of(training)}};
            const Shape shape = channels_first ? Shape{images, 4, height, width} : Shape{images, height, width, 4};
            KernelCase c{op,
                         {uniform(t, shape, 0.5, 2), uniform(t, shape, -2, 2, 2)},
                         attrs,
                         {t, DType::kFloat, DType::kFloat, DType::kFloat, DType::kFloat}};
            for (uint64_t seed : {3, 4, 5}) c.inputs.push_back(uniform(DType::kFloat, Shape{4}, 0.5, 2, seed));
            if (op.ends_with("V3")) c.inputs.push_back(uniform(DType::kFloat, Shape{4}, 0, 1, 6));
            CHECK(check_by_largest(c, 64) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("batch normalisation: running statistics, and a batch without elements") {
  const std::vector<DType> five(5, DType::kFloat);
  for (float factor : {1.0f, 0.25f}) {
    for (const Shape& shape : {Shape{2, 5, 60, 3}, Shape{1, 1, 1, 3}, Shape{0, 5, 5, 3}}) {
      const AttrList attrs{{"epsilon", AttrValue::of(0.001f)},
                           {"exponential_avg_factor", AttrValue::of(factor)},
                           {"data_format", text("NHWC")},
                           {"is_training", AttrValue::of(true)}};
      KernelCase c{"FusedBatchNorm", {uniform(DType::kFloat, shape, 0.5, 2)}, attrs, five};
      for (uint64_t seed : {3, 4, 5, 6}) c.inputs.push_back(uniform(DType::kFloat, Shape{3}, 0.5, 2, seed));
      INFO(shape.to_string() << ", factor " << factor);
      CHECK(check_by_largest(c, 16) == "");
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
