// The plug-in's kernels against the CPU's, through the stand-in.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

constexpr DType kFloatingTypes[] = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};

Tensor axes(std::vector<int32_t> values) {
  return Tensor::of<int32_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

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
  std::pair<Shape, Shape> shapes[] = {{{5, 7}, {}},     {{}, {5, 7}},     {{5, 7}, {7}},
                                      {{5, 1}, {5, 7}}, {{5, 1}, {1, 7}}, {{2, 3, 4, 5}, {3, 1, 5}},
                                      {{1}, {1}},       {{0, 3}, {3}},    {{2, 1, 3, 1, 2}, {1, 4, 1, 5, 1}}};
  for (DType t : {DType::kFloat, DType::kHalf, DType::kInt64}) {
    for (const auto& [a, b] : shapes) {
      INFO(a.to_string() << " and " << b.to_string());
      CHECK(check({"Sub", {uniform(t, a, -9, 9), uniform(t, b, -9, 9, 2)}}) == "");
      CHECK(check({"Less", {uniform(t, a, -9, 9), uniform(t, b, -9, 9, 2)}, {}, {DType::kBool}}) == "");
    }
  }
}

TEST_CASE("what is broadcast goes by packs where the innermost dimension has whole ones") {
  std::pair<Shape, Shape> shapes[] = {{{5, 16}, {16}},           {{5, 16}, {5, 1}},       {{5, 1}, {1, 48}},
                                      {{3, 1, 4, 8}, {2, 1, 8}}, {{3, 5, 16}, {3, 1, 1}}, {{2, 3, 8}, {3, 1}},
                                      {{5, 16}, {1, 1, 1, 1}},   {{7, 17}, {7, 1}},       {{4, 130}, {130}}};
  for (DType t : {DType::kFloat, DType::kHalf, DType::kInt64, DType::kUInt8, DType::kComplex128}) {
    for (const auto& [a, b] : shapes) {
      INFO(a.to_string() << " and " << b.to_string() << " " << dtype_name(t));
      CHECK(check({"Sub", {uniform(t, a, 0, 9), uniform(t, b, 0, 9, 2)}}) == "");
      CHECK(check({"Sub", {uniform(t, b, 0, 9), uniform(t, a, 0, 9, 2)}}) == "");
      CHECK(check({"NotEqual",
                   {uniform(t, a, 0, 3), uniform(t, b, 0, 3, 2)},
                   {{"incompatible_shape_error", AttrValue::of(true)}},
                   {DType::kBool}}) == "");
    }
    if (t == DType::kComplex128) continue;
    CHECK(check({"ClipByValue",
                 {uniform(t, Shape{3, 64}, 0, 99), uniform(t, Shape{}, 20, 30),
                  uniform(t, Shape{3, 64}, 40, 50, 2)}}) == "");
    CHECK(check({"ClipByValue",
                 {uniform(t, Shape{67}, 0, 99), uniform(t, Shape{}, 20, 30), uniform(t, Shape{}, 40, 50, 2)}}) == "");
  }
}

TEST_CASE("reductions over rows, columns, everything and nothing") {
  struct Row {
    Shape shape;
    std::vector<int32_t> over;
  };
  const Row rows[] = {{{4, 300}, {1}}, {{300, 4}, {0}}, {{7, 5, 6}, {0, 2}}, {{7, 5, 6}, {1}}, {{40000}, {0}},
                      {{3, 4}, {}},    {{}, {}},        {{0, 3}, {0}}};
  for (DType t : kFloatingTypes) {
    for (const Row& row : rows) {
      INFO(row.shape.to_string() << " " << dtype_name(t));
      std::vector<std::pair<std::string, AttrValue>> attrs{{"keep_dims", AttrValue::of(false)}};
      CHECK(check({"Max", {uniform(t, row.shape, -9, 9), axes(row.over)}, attrs}) == "");
      CHECK(check({"Sum", {uniform(t, row.shape, 0, 1), axes(row.over)}, attrs}, 16) == "");
    }
  }
}

TEST_CASE("numbers beyond an integer's range become what they become on the CPU") {
  const std::vector<double> numbers{0x1p63, 0x1.8p63, 0x1.fffffep63, 0x1p64,  0x1p65, 0x1p31,
                                    0x1p32, 0x1.8p31, -0x1p63,       -0x1p64, -1,     -0.5,
                                    0.99,   INFINITY, -INFINITY,     NAN};
  for (DType from : kFloatingTypes) {
    Tensor x = Tensor::allocate(from, Shape{static_cast<int64_t>(numbers.size())}).take();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto narrow = static_cast<float>(numbers[i]);
      if (from == DType::kDouble) x.data<double>()[i] = numbers[i];
      if (from == DType::kFloat) x.data<float>()[i] = narrow;
      if (from == DType::kHalf) x.data<half>()[i] = half(narrow);
      if (from == DType::kBFloat16) x.data<bfloat16>()[i] = bfloat16(narrow);
    }
    for (DType to : {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16, DType::kInt32, DType::kUInt32,
                     DType::kInt64, DType::kUInt64}) {
      INFO(dtype_name(from) << " to " << dtype_name(to));
      CHECK(check({"Cast",
                   {x},
                   {{"SrcT", AttrValue::of(from)}, {"DstT", AttrValue::of(to)}, {"Truncate", AttrValue::of(false)}},
                   {to}}) == "");
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
