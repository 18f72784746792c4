#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

Tensor cast(Tensor x, DType to, bool truncate = false) {
  auto y = OpCase("Cast").in(x).out(to).attr("Truncate", AttrValue::of(truncate)).run();
  REQUIRE(y.ok());
  return (*y)[0];
}

}  // namespace

TEST_CASE("floats out of an integer's range become the smallest integer") {
  Tensor x = tensor<float>({5}, {1e10f, -1e10f, NAN, -2.9f, 2147483520.0f});
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min();
  CHECK(values<int32_t>(cast(x, DType::kInt32)) == std::vector<int32_t>{kLow, kLow, kLow, -2, 2147483520});
}

TEST_CASE("narrow types keep low bits, halves round once, equal types are copied") {
  CHECK(values<int8_t>(cast(ints({300, -1, -129}), DType::kInt8)) == std::vector<int8_t>{44, -1, 127});
  CHECK(values<uint64_t>(cast(tensor<float>({2}, {0x1p63f, 3.5f}), DType::kUInt64)) ==
        std::vector<uint64_t>{uint64_t{1} << 63, 3});
  CHECK(cast(tensor<double>({1}, {65519.0}), DType::kHalf).data<half>()[0].bits == 0x7bff);
  CHECK(values<int16_t>(cast(tensor<int16_t>({2}, {-5, 7}), DType::kInt16)) == std::vector<int16_t>{-5, 7});
  Tensor truth = cast(tensor<half>({2}, {half(0.0f), half(-0.5f)}), DType::kBool);
  CHECK_FALSE(truth.data<bool>()[0]);
  CHECK(truth.data<bool>()[1]);
  CHECK(values<float>(cast(tensor<std::complex<float>>({1}, {{2, 3}}), DType::kFloat)) == std::vector<float>{2});
}

TEST_CASE("Truncate cuts the mantissa instead of rounding it") {
  Tensor x = tensor<float>({1}, {1.0f + 0x1.8p-8f});
  CHECK(static_cast<float>(cast(x, DType::kBFloat16).data<bfloat16>()[0]) == 1.0f + 0x1p-7f);
  CHECK(static_cast<float>(cast(x, DType::kBFloat16, true).data<bfloat16>()[0]) == 1.0f);
}
