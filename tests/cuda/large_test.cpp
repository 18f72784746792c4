// Shapes that take a kernel's other paths: several blocks, squares, pieces, sorts.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using Attr = std::pair<std::string, AttrValue>;

Tensor ints(std::vector<int32_t> values) {
  return Tensor::of<int32_t>(Shape{static_cast<int64_t>(values.size())}, values);
}
Tensor scalar(int32_t value) { return Tensor::scalar<int32_t>(value); }
std::string f32(KernelCase c, int64_t ulps = 0) { return check(c, ulps); }
Tensor random(Shape shape, uint64_t seed = 1) { return uniform(DType::kFloat, shape, -2, 2, seed); }

TEST_CASE("transpositions go through squares, also of narrow and wide elements") {
  for (DType t : {DType::kUInt8, DType::kHalf, DType::kFloat, DType::kDouble, DType::kComplex128}) {
    CHECK(check({"Transpose", {uniform(t, Shape{70, 101}, -9, 9), ints({1, 0})}}) == "");
    CHECK(check({"Transpose", {uniform(t, Shape{3, 70, 101}, -9, 9), ints({0, 2, 1})}}) == "");
    CHECK(check({"Transpose", {uniform(t, Shape{3, 33, 5, 40}, -9, 9), ints({2, 3, 0, 1})}}) == "");
    CHECK(check({"Transpose", {uniform(t, Shape{2, 3, 4, 16}, -9, 9), ints({1, 0, 2, 3})}}) == "");
  }
}

TEST_CASE("transpositions of whole squares, of one element more and one less") {
  for (DType t : {DType::kUInt8, DType::kHalf, DType::kFloat, DType::kDouble, DType::kComplex128}) {
    for (int64_t rows : {63, 64, 129}) {
      for (int64_t columns : {32, 65, 128})
        CHECK(check({"Transpose", {uniform(t, Shape{2, rows, columns}, -9, 9), ints({0, 2, 1})}}) == "");
    }
  }
}

TEST_CASE("sums of runs that begin and end anywhere in a pack") {
  const std::vector<Attr> attrs{{"keep_dims", AttrValue::of(false)}};
  for (DType t : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kComplex128, DType::kInt64}) {
    for (int64_t n : {513, 1023, 1027, 4096, 8200, 40001}) {
      INFO(dtype_name(t) << " " << n);
      const Tensor x = uniform(t, Shape{3, n}, 0, 1);
      const int64_t ulps = t == DType::kComplex128 ? 64 : 16;  // the CPU adds these up one after the other
      CHECK(check({"Sum", {x, ints({1})}, attrs}, ulps) == "");
      CHECK(check({"Sum", {x, ints({0, 1})}, attrs}, ulps) == "");
      if (t != DType::kComplex128) CHECK(check({"Max", {x, ints({1})}, attrs}) == "");
    }
  }
}

/// Of every `step`-th double from `first` on, in a wider type.
double exact_sum(const Tensor& x, int64_t first, int64_t step) {
  const auto* const all = static_cast<const double*>(x.raw());
  long double sum = 0;
  for (int64_t i = first; i < x.num_elements() * step; i += step) sum += static_cast<long double>(all[i]);
  return static_cast<double>(sum);
}

TEST_CASE("long sums of doubles are right to the last bits") {
  const std::vector<Attr> attrs{{"keep_dims", AttrValue::of(false)}};
  for (DType t : {DType::kDouble, DType::kComplex128}) {
    for (int64_t n : {1027, 40001, 300001}) {
      INFO(dtype_name(t) << " " << n);
      const Tensor x = uniform(t, Shape{n}, 0, 1);
      const Tensor got = run({"Sum", {x, ints({0})}, attrs}).take().gpu[0];
      const int64_t parts = t == DType::kComplex128 ? 2 : 1;
      for (int64_t part = 0; part < parts; ++part) {
        const double want = exact_sum(x, part, parts), sum = static_cast<const double*>(got.raw())[part];
        CHECK(std::abs(sum - want) <= 2 * std::numeric_limits<double>::epsilon() * want);
      }
    }
  }
}

TEST_CASE("softmax of rows that a block can keep, and of others") {
  for (DType t : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
    for (int64_t n : {8, 15, 16, 1000, 4096, 4104, 8192, 8200}) {
      INFO(dtype_name(t) << " " << n);
      CHECK(check({"Softmax", {uniform(t, Shape{3, n}, -4, 4)}}, 64) == "");
      CHECK(check({"LogSoftmax", {uniform(t, Shape{3, n}, -4, 4)}}, 64) == "");
    }
  }
}

TEST_CASE("sums over columns and over everything are made in pieces") {
  const std::vector<Attr> attrs{{"keep_dims", AttrValue::of(false)}};
  const Tensor positive = uniform(DType::kFloat, Shape{6000, 40}, 0, 1);
  CHECK(f32({"Sum", {positive, ints({0})}, attrs}, 16) == "");
  CHECK(f32({"Sum", {positive, ints({1})}, attrs}, 16) == "");
  CHECK(f32({"Mean", {positive, ints({0, 1})}, attrs}, 16) == "");
  CHECK(f32({"Max", {uniform(DType::kFloat, Shape{30, 20, 50}, -9, 9), ints({0, 2})}, attrs}) == "");
}

TEST_CASE("what goes along a line of several hundred elements") {
  CHECK(f32({"ArgMax", {random({7, 900}), scalar(1)}, {}, {DType::kInt64}}) == "");
  CHECK(f32({"ArgMin", {random({900, 7}), scalar(0)}, {}, {DType::kInt64}}) == "");
  CHECK(check({"ArgMax", {uniform(DType::kBool, Shape{5, 900}, 0, 1), scalar(1)}, {}, {DType::kInt64}}) ==
        "");  // the first of equals
  const std::vector<Attr> attrs{{"exclusive", AttrValue::of(true)}, {"reverse", AttrValue::of(true)}};
  const Tensor positive = uniform(DType::kFloat, Shape{3, 1000}, 0, 1);
  CHECK(f32({"Cumsum", {positive, scalar(1)}, attrs}, 64) == "");
  CHECK(f32({"Softmax", {random({5, 1000})}}, 32) == "");
}

TEST_CASE("sorting: the largest, distinct values, and rows that meet") {
  const Tensor rows = uniform(DType::kFloat, Shape{3, 5000}, -100, 100);
  for (int32_t k : {1, 20, 100, 5000})
    CHECK(f32({"TopKV2", {rows, scalar(k)}, {{"sorted", AttrValue::of(true)}}, {DType::kFloat, DType::kInt32}}) == "");
  CHECK(check({"TopKV2",
               {uniform(DType::kInt16, Shape{2, 3000}, -50, 50), scalar(300)},
               {{"sorted", AttrValue::of(true)}},
               {DType::kInt16, DType::kInt32}}) == "");
  CHECK(check({"Unique", {uniform(DType::kInt64, Shape{7000}, -300, 300)}, {}, {DType::kInt64, DType::kInt32}}) == "");
  const Tensor ids = uniform(DType::kInt32, Shape{6000}, 0, 50);
  CHECK(f32({"UnsortedSegmentSum", {uniform(DType::kFloat, Shape{6000, 3}, 0, 1), ids, scalar(50)}}, 64) == "");
}

TEST_CASE("products of matrices that are no whole tiles") {
  for (bool transposed : {false, true}) {
    const std::vector<Attr> attrs{{"transpose_a", AttrValue::of(transposed)},
                                  {"transpose_b", AttrValue::of(!transposed)}};
    const Shape a = transposed ? Shape{70, 130} : Shape{130, 70}, b = transposed ? Shape{70, 65} : Shape{65, 70};
    CHECK(f32({"MatMul", {uniform(DType::kFloat, a, 0, 1), uniform(DType::kFloat, b, 0, 1, 2)}, attrs}, 64) == "");
  }
}

TEST_CASE("a convolution's filter gradient is made in pieces") {
  const std::vector<Attr> attrs{{"strides", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, 1, 1, 1})},
                                {"dilations", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, 1, 1, 1})},
                                {"explicit_paddings", AttrValue::list_of<int64_t>(AttrKind::kInt, {})},
                                {"padding", AttrValue::of(std::string("SAME"))},
                                {"data_format", AttrValue::of(std::string("NHWC"))}};
  const Tensor image = uniform(DType::kFloat, Shape{4, 40, 40, 3}, 0, 1),
               gradient = uniform(DType::kFloat, Shape{4, 40, 40, 5}, 0, 1, 2);
  CHECK(f32({"Conv2DBackpropFilter", {image, ints({3, 3, 3, 5}), gradient}, attrs}, 128) == "");
}

}  // namespace
}  // namespace emplace::cuda::testing
