// The plug-in's kernels against the CPU's, through the stand-in.
#include <catch2/catch.hpp>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

constexpr DType kFloatingTypes[] = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};

Tensor axes(std::vector<int32_t> values) { return Tensor::of<int32_t>(Shape{static_cast<int64_t>(values.size())}, values); }

TEST_CASE("elementwise kernels: empty, one element, tails, several blocks") {
  for (DType t : kFloatingTypes) {
    for (int64_t n : {0, 1, 3, 4, 255, 256, 257, 4099}) {
      CHECK(check({"Exp", {uniform(t, Shape{n}, -4, 4)}}, 2) == "");
      CHECK(check({"Tanh", {uniform(t, Shape{n}, -4, 4)}}, 4) == "");
      CHECK(check({"AddV2", {uniform(t, Shape{n}, -4, 4), uniform(t, Shape{n}, -4, 4, 2)}}) == "");
    }
  }
}

TEST_CASE("two operands are broadcast over each other") {
  std::pair<Shape, Shape> shapes[] = {{{5, 7}, {}}, {{}, {5, 7}}, {{5, 7}, {7}}, {{5, 1}, {5, 7}}, {{5, 1}, {1, 7}},
                                      {{2, 3, 4, 5}, {3, 1, 5}}, {{1}, {1}}, {{0, 3}, {3}}, {{2, 1, 3, 1, 2}, {1, 4, 1, 5, 1}}};
  for (DType t : {DType::kFloat, DType::kHalf, DType::kInt64}) {
    for (const auto& [a, b] : shapes) {
      INFO(a.to_string() << " and " << b.to_string());
      CHECK(check({"Sub", {uniform(t, a, -9, 9), uniform(t, b, -9, 9, 2)}}) == "");
      CHECK(check({"Less", {uniform(t, a, -9, 9), uniform(t, b, -9, 9, 2)}, {}, {DType::kBool}}) == "");
    }
  }
}

TEST_CASE("reductions over rows, columns, everything and nothing") {
  struct Row {
    Shape shape;
    std::vector<int32_t> over;
  };
  const Row rows[] = {{{4, 300}, {1}}, {{300, 4}, {0}}, {{7, 5, 6}, {0, 2}}, {{7, 5, 6}, {1}}, {{40000}, {0}}, {{3, 4}, {}}, {{}, {}}, {{0, 3}, {0}}};
  for (DType t : kFloatingTypes) {
    for (const Row& row : rows) {
      INFO(row.shape.to_string() << " " << dtype_name(t));
      std::vector<std::pair<std::string, AttrValue>> attrs{{"keep_dims", AttrValue::of(false)}};
      CHECK(check({"Max", {uniform(t, row.shape, -9, 9), axes(row.over)}, attrs}) == "");
      CHECK(check({"Sum", {uniform(t, row.shape, 0, 1), axes(row.over)}, attrs}, 16) == "");
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
