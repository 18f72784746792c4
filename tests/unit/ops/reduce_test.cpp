#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// Sums over the axes whose bit is set, one element at a time.
std::vector<double> sums_by_definition(const Tensor& t, unsigned axes) {
  const Shape& shape = t.shape();
  int64_t outputs = 1;
  for (int d = 0; d < shape.rank(); ++d) outputs *= axes >> d & 1 ? 1 : shape.dim(d);
  std::vector<double> sums(static_cast<size_t>(outputs));
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    int64_t rest = i, at = 0, step = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      const int64_t index = rest % shape.dim(d);
      rest /= shape.dim(d);
      if (axes >> d & 1) continue;
      at += index * step;
      step *= shape.dim(d);
    }
    sums[static_cast<size_t>(at)] += static_cast<double>(t.data<float>()[i]);
  }
  return sums;
}

Result<std::vector<Tensor>> reduce(std::string_view op, Tensor x, std::vector<int32_t> axes, bool keep = false) {
  return OpCase(op).in(x).in(ints(axes)).out(x.dtype()).attr("keep_dims", AttrValue::of(keep)).run();
}

}  // namespace

TEST_CASE("sums over every choice of axes are what their definition says") {
  for (const Shape& shape : {Shape{3, 4, 5, 2}, Shape{2, 1, 300, 3}, Shape{1, 9, 1, 4099}, Shape{130, 2, 2, 1}}) {
    Tensor x = Tensor::allocate(DType::kFloat, shape).take();
    for (int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = static_cast<float>((i * 7919) % 1000 - 500);
    for (unsigned axes = 0; axes < 16; ++axes) {
      std::vector<int32_t> list;
      for (int d = 3; d >= 0; --d) {
        if (axes >> d & 1) list.push_back(d % 2 ? d - 4 : d);
      }
      auto y = reduce("Sum", x, list);
      REQUIRE(y.ok());
      const std::vector<double> want = sums_by_definition(x, axes);
      REQUIRE(static_cast<size_t>((*y)[0].num_elements()) == want.size());
      double worst = 0;
      for (size_t i = 0; i < want.size(); ++i)
        worst = std::max(worst, std::fabs(want[i] - static_cast<double>((*y)[0].data<float>()[i])));
      INFO(shape.to_string() << " axes " << axes);
      CHECK(worst <= 0.25);  // whole numbers below 2^24, rounded once
    }
  }
}

TEST_CASE("reductions of nothing, of narrow types and of NaN") {
  Tensor none = Tensor::allocate(DType::kFloat, Shape{0, 2}).take();
  CHECK(values<float>((*reduce("Max", none, {0}))[0]) == std::vector<float>{-INFINITY, -INFINITY});
  CHECK(values<float>((*reduce("Prod", none, {0}))[0]) == std::vector<float>{1, 1});
  CHECK(std::isnan((*reduce("Mean", none, {0, 1}))[0].data<float>()[0]));
  CHECK((*reduce("Min", Tensor::allocate(DType::kInt8, Shape{0}).take(), {0}))[0].data<int8_t>()[0] == 127);
  CHECK((*reduce("Sum", tensor<uint8_t>({3}, {200, 100, 3}), {0}))[0].data<uint8_t>()[0] == 47);
  CHECK((*reduce("Mean", tensor<int8_t>({3}, {127, 127, 127}), {0}))[0].data<int8_t>()[0] == 127);
  std::vector<float> many(100, 1.0f);
  many[77] = NAN;
  CHECK(std::isnan((*reduce("Max", tensor<float>({100}, many), {0}))[0].data<float>()[0]));
  CHECK_FALSE(reduce("Sum", tensor<float>({2, 2}, {1, 2, 3, 4}), {0, -2}).ok());
  CHECK_FALSE(reduce("Sum", tensor<float>({2}, {1, 2}), {1}).ok());
}

TEST_CASE("a full reduction gives the same bytes block by block") {
  std::vector<float> x;
  for (int i = 0; i < 100000; ++i) x.push_back(1.0f / static_cast<float>(i + 1));
  const float whole = (*reduce("Sum", tensor<float>({100000}, x), {0}))[0].data<float>()[0];
  CHECK(whole == Approx(12.0901461).epsilon(1e-6));
}

TEST_CASE("softmax stays finite for large logits and its rows sum to one") {
  std::vector<float> x;
  for (int i = 0; i < 300; ++i) x.push_back(900.0f + static_cast<float>(i % 150));
  auto y = OpCase("Softmax").in(tensor<float>({2, 150}, x)).out(DType::kFloat).run();
  double sum = 0;
  for (int i = 0; i < 150; ++i) sum += static_cast<double>((*y)[0].data<float>()[150 + i]);
  CHECK(sum == Approx(1).epsilon(1e-6));
}

TEST_CASE("ArgMax passes over NaN and takes the first of equals") {
  auto y = OpCase("ArgMax")
               .in(tensor<float>({2, 3}, {NAN, 2, 2, NAN, NAN, NAN}))
               .in(Tensor::scalar<int32_t>(1))
               .out(DType::kInt64)
               .run();
  CHECK(values<int64_t>((*y)[0]) == std::vector<int64_t>{1, 0});
}
