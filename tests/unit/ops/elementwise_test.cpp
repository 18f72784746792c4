#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// The element of a broadcast operand that belongs to output element `flat`: by definition instead of by plan.
float broadcast_at(const Tensor& t, const Shape& out, int64_t flat) {
  int64_t offset = 0, stride = 1;
  for (int d = out.rank() - 1; d >= 0; --d) {
    const int64_t index = flat % out.dim(d);
    flat /= out.dim(d);
    const int own = d - (out.rank() - t.shape().rank());
    if (own < 0) continue;
    if (t.shape().dim(own) != 1) offset += index * stride;
    stride *= t.shape().dim(own);
  }
  return t.data<float>()[offset];
}

Tensor counting(const Shape& shape, float step) {
  Tensor t = Tensor::allocate(DType::kFloat, shape).take();
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = static_cast<float>(i + 1) * step;
  return t;
}

template <class T>
std::vector<T> binary(std::string_view op, Tensor a, Tensor b) {
  auto out = OpCase(op).in(a).in(b).out(a.dtype()).run();
  REQUIRE(out.ok());
  return values<T>((*out)[0]);
}

}  // namespace

TEST_CASE("broadcasting gives what indexing gives, for short and long runs and any rank") {
  const std::pair<Shape, Shape> cases[] = {{{2, 3}, {2, 3}},
                                           {{}, {5}},
                                           {{4, 1}, {1, 3}},
                                           {{7, 1}, {7, 100}},
                                           {{100, 3}, {3}},
                                           {{3, 1, 5}, {4, 1}},
                                           {{1, 1}, {1}},
                                           {{2, 1, 3, 1, 2}, {1, 4, 1, 5, 1}},
                                           {{2, 70000}, {2, 1}},
                                           {{0, 3}, {3}},
                                           {{2, 1, 2, 1, 2, 1, 2}, {1, 2, 1, 2, 1, 2, 1}}};
  for (const auto& [a, b] : cases) {
    Tensor x = counting(a, 1), y = counting(b, -3);
    auto out = OpCase("Sub").in(x).in(y).out(DType::kFloat).run();
    REQUIRE(out.ok());
    const Shape& shape = (*out)[0].shape();
    CHECK(shape == *broadcast_shapes(a, b));
    bool equal = true;
    for (int64_t i = 0; i < (*out)[0].num_elements(); ++i) {
      equal = equal && (*out)[0].data<float>()[i] == broadcast_at(x, shape, i) - broadcast_at(y, shape, i);
    }
    INFO(a.to_string() << " " << b.to_string());
    CHECK(equal);
  }
}

TEST_CASE("narrow types compute in wider ones and keep their own rounding and wrapping") {
  CHECK(binary<int8_t>("AddV2", tensor<int8_t>({3}, {127, -128, 5}), tensor<int8_t>({3}, {1, -1, -9})) ==
        std::vector<int8_t>{-128, 127, -4});
  CHECK(binary<uint32_t>("Mul", tensor<uint32_t>({1}, {0x80000001u}), tensor<uint32_t>({}, {3})) ==
        std::vector<uint32_t>{0x80000003u});
  auto halves = binary<half>("AddV2", tensor<half>({2}, {half(2048.0f), half(1.0f)}), tensor<half>({}, {half(1.0f)}));
  CHECK(static_cast<float>(halves[0]) == 2048.0f);  // a tie goes to even
  CHECK(static_cast<float>(halves[1]) == 2.0f);
}

TEST_CASE("minimum, maximum and Relu pass NaN on from either side") {
  Tensor left = tensor<float>({2}, {NAN, 1}), right = tensor<float>({2}, {1, NAN});
  for (std::string_view op : {"Maximum", "Minimum"}) {
    auto out = binary<float>(op, left, right);
    CHECK(std::isnan(out[0]));
    CHECK(std::isnan(out[1]));
  }
  CHECK(std::isnan(values<float>((*OpCase("Relu").in(left).out(DType::kFloat).run())[0])[0]));
}

TEST_CASE("AddN adds from the first to the last") {
  OpCase sum("AddN");
  for (float v : {1e8f, 1.0f, -1e8f, 3.0f}) sum.in(tensor<float>({1}, {v}));
  CHECK(values<float>((*sum.out(DType::kFloat).run())[0]) == std::vector<float>{3});
}

TEST_CASE("matrix products, transposed and batched") {
  Tensor a = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  auto product = [](const Tensor& x, const Tensor& y, bool transpose) {
    return OpCase("MatMul")
        .in(x)
        .in(y)
        .out(DType::kFloat)
        .attr("transpose_a", AttrValue::of(transpose))
        .attr("transpose_b", AttrValue::of(transpose))
        .run();
  };
  CHECK(values<float>((*product(a, b, false))[0]) == std::vector<float>{22, 28, 49, 64});
  CHECK(values<float>((*product(a, b, true))[0]) == std::vector<float>{9, 19, 29, 12, 26, 40, 15, 33, 51});
  CHECK_FALSE(product(a, a, false).ok());

  auto batch = OpCase("BatchMatMulV2")
                   .in(tensor<int32_t>({2, 1, 2}, {1, 2, 3, 4}))
                   .in(tensor<int32_t>({2, 1}, {10, 100}))
                   .out(DType::kInt32)
                   .attr("adj_x", AttrValue::of(false))
                   .attr("adj_y", AttrValue::of(false))
                   .run();
  CHECK(values<int32_t>((*batch)[0]) == std::vector<int32_t>{210, 430});
}
