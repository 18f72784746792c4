// Rolled axes, and complex numbers made and taken apart: the CPU's answers, wherever rows, packs and blocks end.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

Tensor ints(const std::vector<int32_t>& values) {
  return Tensor::of<int32_t>(Shape{static_cast<int64_t>(values.size())}, std::span<const int32_t>(values));
}

TEST_CASE("rolled axes: one, several, twice the same, by nothing, by whole turns, backwards") {
  struct Row {
    Shape shape;
    std::vector<int32_t> shift, axis;
  };
  const Row rows[] = {{{1}, {5}, {0}},
                      {{7}, {3}, {0}},
                      {{1031}, {-13}, {0}},
                      {{64}, {16}, {0}},
                      {{6, 10}, {1}, {1}},
                      {{6, 10}, {-2}, {0}},
                      {{6, 10}, {4, 9}, {0, 1}},
                      {{5, 3, 7}, {2, 3}, {0, 2}},
                      {{5, 3, 7}, {2, 1, -3}, {0, 1, 2}},
                      {{3, 5, 8}, {4}, {1}},
                      {{4, 6, 16}, {2, 5}, {0, 1}},
                      {{4, 6}, {1, 2, -3}, {0, 1, 1}},
                      {{4, 6}, {0, 6}, {0, 1}},
                      {{4, 6}, {}, {}},
                      {{0, 3}, {1}, {1}},
                      {{2, 3, 1, 2, 3, 2, 2}, {1, 1, 1, 1, 1, 1, 1}, {0, 1, 2, 3, 4, 5, 6}},
                      {{2, 3, 2, 2, 3, 2, 2, 3}, {1, 2, 1, 1, 2, 1, 1, 2}, {0, 1, 2, 3, 4, 5, 6, -1}}};
  for (DType t : types_of("Roll")) {
    for (const Row& row : rows) {
      INFO(row.shape.to_string() << " " << dtype_name(t));
      CHECK(check({"Roll", {uniform(t, row.shape, 0, 99), ints(row.shift), ints(row.axis)}}) == "");
    }
  }
}

TEST_CASE("more axes than a kernel rolls are refused") {
  Shape shape;
  std::vector<int32_t> axes, shifts(9, 1);
  for (int d = 0; d < 9; ++d) {
    shape.add_dim(2);
    axes.push_back(d);
  }
  CHECK(check({"Roll", {uniform(DType::kFloat, shape, 0, 9), ints(shifts), ints(axes)}})
            .find("rolling more than 8 axes on a GPU") != std::string::npos);
}

/// An op of complex numbers and of real ones, by attr T.
std::string check_parts(std::string_view op, const std::vector<Tensor>& inputs, DType result, int64_t ulps = 0) {
  return check({op, inputs, {{"T", AttrValue::of(inputs[0].dtype())}}, {result}}, ulps);
}

TEST_CASE("complex numbers and their parts") {
  for (auto [whole, part] : {std::pair{DType::kComplex64, DType::kFloat}, {DType::kComplex128, DType::kDouble}}) {
    for (int64_t n : {0, 1, 2, 3, 255, 257, 1025}) {
      INFO(dtype_name(whole) << " " << n);
      const Tensor z = uniform(whole, Shape{n}, -9, 9), re = uniform(part, Shape{n}, -9, 9);
      CHECK(check_parts("Real", {z}, part) == "");
      CHECK(check_parts("Imag", {z}, part) == "");
      CHECK(check_parts("ComplexAbs", {z}, part, 2) == "");
      CHECK(check_parts("Complex", {re, uniform(part, Shape{n}, -9, 9, 2)}, whole) == "");
      CHECK(check_parts("Complex", {re, uniform(part, Shape{}, -9, 9, 2)}, whole) == "");
    }
    const std::pair<Shape, Shape> shapes[] = {{{5, 1}, {7}}, {{3, 1, 8}, {2, 1}}, {{6}, {4, 6}}};
    for (const auto& [a, b] : shapes)
      CHECK(check_parts("Complex", {uniform(part, a, -9, 9), uniform(part, b, -9, 9, 2)}, whole) == "");
  }
  // No overflow on the way to a magnitude that there is.
  const std::vector<float> far{3e38f, 1e38f, INFINITY, std::nanf(""), 0, -0.f, 1e-40f, 0};
  Tensor z = Tensor::allocate(DType::kComplex64, Shape{4}).take();
  std::copy(far.begin(), far.end(), static_cast<float*>(z.raw()));
  CHECK(check_parts("ComplexAbs", {z}, DType::kFloat, 2) == "");
}

}  // namespace
}  // namespace emplace::cuda::testing
