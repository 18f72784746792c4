// Where values belong among sorted ones, and how often numbers occur: the CPU's answers, for sizes around a block's and
// a pack's, for values at the edges, and for many numbers of one bin.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

template <class T>
Tensor matrix(int64_t rows, const std::vector<T>& values) {
  return Tensor::of<T>(Shape{rows, static_cast<int64_t>(values.size()) / rows}, std::span<const T>(values));
}

TEST_CASE("buckets are the CPU's, however values compare with boundaries") {
  std::vector<float> many(1000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i / 3) - 100;
  for (const std::vector<float>& boundaries : {std::vector<float>{}, {0.5f}, {-1, 0, 0, 0.1f, 2}, many}) {
    const auto attrs = [&](DType t) {
      return AttrList{{"T", AttrValue::of(t)}, {"boundaries", AttrValue::list_of(AttrKind::kFloat, boundaries)}};
    };
    for (DType t : {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
      for (int64_t n : {0, 1, 3, 4, 5, 1023, 1025}) {
        INFO(boundaries.size() << " boundaries, " << n << " of " << dtype_name(t));
        CHECK(check({"Bucketize", {uniform(t, Shape{n}, -120, 250)}, attrs(t), {DType::kInt32}, t}) == "");
      }
    }
    const std::vector<double> edges{0.1, static_cast<double>(0.1f), -0.0, 0.5, std::nan(""), INFINITY, -INFINITY, 2};
    const Tensor wide = Tensor::of<double>(Shape{8}, std::span<const double>(edges));
    CHECK(check({"Bucketize", {wide}, attrs(DType::kDouble), {DType::kInt32}, DType::kDouble}) == "");
    // Two integers of 64 bits that are one float.
    const std::vector<int64_t> near{16777216, 16777217, -1, 0, 1, 2};
    const Tensor large = Tensor::of<int64_t>(Shape{6}, std::span<const int64_t>(near));
    CHECK(check({"Bucketize", {large}, attrs(DType::kInt64), {DType::kInt32}, DType::kInt64}) == "");
  }
}

TEST_CASE("bounds are the CPU's in every row, of every type, also where a row is not sorted") {
  for (std::string_view op : {"LowerBound", "UpperBound"}) {
    for (DType t : types_of(op)) {
      for (auto [rows, length, values] : {std::array<int64_t, 3>{1, 1, 1},
                                          {3, 7, 5},
                                          {2, 64, 300},
                                          {5, 0, 3},
                                          {4, 6, 0},
                                          {0, 3, 3},
                                          {1, 1000, 257}}) {
        for (DType out : {DType::kInt32, DType::kInt64}) {
          INFO(op << " " << dtype_name(t) << " " << rows << " rows of " << length << " and " << values);
          const AttrList attrs{{"out_type", AttrValue::of(out)}};
          CHECK(check({op,
                       {uniform(t, Shape{rows, length}, 0, 50), uniform(t, Shape{rows, values}, 0, 50, 2)},
                       attrs,
                       {out},
                       t}) == "");
        }
      }
    }
    const float nan = std::nanf(""), infinite = INFINITY;
    const KernelCase c{op,
                       {matrix<float>(2, {-infinite, -1, 0, 0, infinite, nan, 1, 2, 3, nan}),
                        matrix<float>(2, {-0.f, 0, nan, infinite, -infinite, 1, 2, nan, 3, 0})},
                       {{"out_type", AttrValue::of(DType::kInt32)}},
                       {DType::kInt32}};
    CHECK(check(c) == "");
  }
}

/// Whole numbers, whose sums are exact in any order.
Tensor numbers_below(DType t, const Shape& shape, int64_t limit, uint64_t seed) {
  const Tensor drawn = uniform(DType::kInt32, shape, 0, static_cast<double>(limit), seed);
  if (t != DType::kFloat) return uniform(t, shape, 0, static_cast<double>(limit), seed);
  Tensor x = Tensor::allocate(t, shape).take();
  std::copy_n(drawn.data<int32_t>(), drawn.num_elements(), x.data<float>());
  return x;
}

TEST_CASE("numbers are counted as on the CPU, in a vector and in each row") {
  for (DType index : {DType::kInt32, DType::kInt64}) {
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{1}, Shape{300}, Shape{5000}, Shape{3, 0}, Shape{0, 4}, Shape{7, 130}}) {
      for (int32_t size : {0, 1, 2, 17, 300}) {
        for (bool binary : {false, true}) {
          for (DType t : {DType::kFloat, DType::kInt32}) {
            INFO(shape.to_string() << " " << dtype_name(index) << " into " << size << " of " << dtype_name(t)
                                   << (binary ? ", which there are" : ""));
            const AttrList attrs{{"binary_output", AttrValue::of(binary)}};
            const Tensor numbers = numbers_below(index, shape, 20, 7), bins = uniform(index, Shape{}, size, size),
                         none = Tensor::allocate(t, Shape{0}).take(), weights = numbers_below(t, shape, 3, 8);
            CHECK(check({"DenseBincount", {numbers, bins, none}, attrs, {t}, t}) == "");
            CHECK(check({"DenseBincount", {numbers, bins, weights}, attrs, {t}, t}) == "");
            if (index == DType::kInt32 && !binary) {
              CHECK(check({"Bincount", {numbers, bins, none}, {}, {t}, t}) == "");
              CHECK(check({"Bincount", {numbers, bins, weights}, {}, {t}, t}) == "");
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
