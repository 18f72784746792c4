#include <catch2/catch.hpp>

#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("Identity shares its input's buffer") {
  Tensor x = ints({1, 2, 3});
  auto y = OpCase("Identity").in(x).out(DType::kInt32).run();
  REQUIRE(y.ok());
  CHECK((*y)[0].raw() == x.raw());
}

TEST_CASE("Switch gives its data to one output and leaves the other dead") {
  auto y = OpCase("Switch").in(ints({7})).in(Tensor::scalar(true)).out(DType::kInt32).out(DType::kInt32).run();
  REQUIRE(y.ok());
  CHECK_FALSE((*y)[0].valid());
  CHECK(values<int32_t>((*y)[1]) == std::vector<int32_t>{7});
}

TEST_CASE("Merge takes the input that is alive") {
  auto shapes =
      OpCase("Merge").in(ints({7, 8})).in_shape(DType::kInt32, {-1}).out(DType::kInt32).out(DType::kInt32).shapes();
  REQUIRE(shapes.ok());
  CHECK((*shapes)[0] == Shape{-1});
  auto y = OpCase("Merge").in(ints({7})).in(ints({8})).out(DType::kInt32).out(DType::kInt32).run();
  REQUIRE(y.ok());
  CHECK(values<int32_t>((*y)[1]) == std::vector<int32_t>{0});
}
