#include <catch2/catch.hpp>

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
