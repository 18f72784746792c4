#include <catch2/catch.hpp>

#include <random>

#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {
using Floats = std::vector<float>;
Tensor matrix() { return tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }
AttrValue number(int64_t v) { return AttrValue::of(v); }

Floats floats(OpCase& op) {
  auto y = op.out(DType::kFloat).run();
  INFO(y.status().message());
  REQUIRE(y.ok());
  return values<float>((*y)[0]);
}
}  // namespace

TEST_CASE("Transpose reorders dimensions, small and larger than a square of the copy") {
  OpCase small = OpCase("Transpose").in(matrix()).in(ints({1, 0}));
  CHECK(floats(small) == Floats{1, 4, 2, 5, 3, 6});
  std::vector<int32_t> x(67 * 45);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i);
  auto y = OpCase("Transpose").in(tensor<int32_t>({67, 45}, x)).in(ints({1, 0})).out(DType::kInt32).run();
  REQUIRE(y.ok());
  for (int64_t i = 0; i < 45; ++i) {
    for (int64_t j = 0; j < 67; ++j) REQUIRE((*y)[0].data<int32_t>()[i * 67 + j] == j * 45 + i);
  }
}

TEST_CASE("a permutation with a repeated entry is refused by the kernel") {
  auto y = OpCase("Transpose").in(matrix()).in(ints({0, 0})).out(DType::kFloat).run();
  CHECK(y.status().message() == "1 is missing from {0,0}.");
}

TEST_CASE("StridedSlice follows Python, backwards and with masks") {
  OpCase op = OpCase("StridedSlice").in(matrix()).in(ints({0, -1})).in(ints({2, -4})).in(ints({1, -2}));
  op.attr("begin_mask", number(0)).attr("end_mask", number(0)).attr("ellipsis_mask", number(0));
  op.attr("new_axis_mask", number(0)).attr("shrink_axis_mask", number(0));
  CHECK(floats(op) == Floats{3, 1, 6, 4});
}

TEST_CASE("Pad surrounds, MirrorPad reflects") {
  OpCase pad = OpCase("Pad").in(matrix()).in(tensor<int32_t>({2, 2}, {0, 1, 1, 0}));
  CHECK(floats(pad) == Floats{0, 1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0});
  OpCase mirror = OpCase("MirrorPad").in(matrix()).in(tensor<int32_t>({2, 2}, {1, 0, 2, 1}));
  mirror.attr("mode", AttrValue::of(std::string("REFLECT")));
  CHECK(floats(mirror) == Floats{6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5});
}

TEST_CASE("a pad of 10^12 is refused for want of memory, not tried") {
  auto y = OpCase("Pad")
               .in(matrix())
               .in(tensor<int64_t>({2, 2}, {1000000000000, 0, 1000000000000, 0}))
               .out(DType::kFloat)
               .run();
  CHECK_FALSE(y.ok());
}

TEST_CASE("Tile and BroadcastTo repeat") {
  OpCase tile = OpCase("Tile").in(tensor<float>({1, 2}, {1, 2})).in(ints({2, 2}));
  CHECK(floats(tile) == Floats{1, 2, 1, 2, 1, 2, 1, 2});
  OpCase broadcast = OpCase("BroadcastTo").in(tensor<float>({2, 1}, {1, 2})).in(ints({2, 2, 3}));
  CHECK(floats(broadcast) == Floats{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
}

TEST_CASE("GatherV2 pairs batches and checks every index") {
  OpCase op = OpCase("GatherV2").in(matrix()).in(tensor<int32_t>({2, 1}, {2, 0})).in(Tensor::scalar<int32_t>(1));
  op.attr("batch_dims", number(1));
  CHECK(floats(op) == Floats{3, 4});
  auto bad = OpCase("Gather").in(matrix()).in(ints({0, 2})).out(DType::kFloat).run();
  CHECK(bad.status().message() == "indices[1] = 2 is not in [0, 2)");
}

TEST_CASE("Reshape infers one size, before a run only from known ones") {
  OpCase op = OpCase("Reshape").in(matrix()).in(ints({-1, 2}));
  CHECK(floats(op) == Floats{1, 2, 3, 4, 5, 6});
  auto shapes = OpCase("Reshape").in_shape(DType::kFloat, {-1, 3}).in(ints({-1, 2})).out(DType::kFloat).shapes();
  REQUIRE(shapes.ok());
  CHECK((*shapes)[0] == Shape{-1, 2});
}

namespace {

/// Pad or PadV2, by the element.
template <class T>
void check_padded(std::mt19937& random, int rank, int64_t last) {
  std::vector<int32_t> borders;
  Shape shape, padded;
  for (int d = 0; d < rank; ++d) {
    const auto size = d + 1 == rank ? last : static_cast<int64_t>(1 + random() % 4);
    const auto before = static_cast<int32_t>(random() % 3), after = static_cast<int32_t>(random() % 3);
    shape.add_dim(size), padded.add_dim(size + before + after);
    borders.insert(borders.end(), {before, after});
  }
  Tensor in = Tensor::allocate(dtype_of<T>, shape).take();
  for (int64_t i = 0; i < in.num_elements(); ++i) in.data<T>()[i] = static_cast<T>(i % 100 + 1);
  const T border = random() % 2 == 0 ? T(0) : T(-3);
  std::vector<T> want(static_cast<size_t>(padded.num_elements()), border);
  for (int64_t i = 0; i < in.num_elements(); ++i) {
    int64_t at = 0, step = 1, rest = i;
    for (int d = rank; d-- > 0; step *= padded.dim(d), rest /= shape.dim(d))
      at += (rest % shape.dim(d) + borders[2 * static_cast<size_t>(d)]) * step;
    want[static_cast<size_t>(at)] = in.data<T>()[i];
  }
  OpCase c(border == T(0) ? "Pad" : "PadV2");
  c.in(in).in(tensor<int32_t>(Shape{rank, 2}, borders)).out(dtype_of<T>);
  if (border != T(0)) c.in(tensor<T>(Shape{}, {border}));
  auto got = c.run();
  INFO(got.status().message() << " " << shape.to_string() << " to " << padded.to_string());
  REQUIRE(got.ok());
  CHECK(values<T>((*got)[0]) == want);
}

}  // namespace

TEST_CASE("a padded tensor has each element in its place, lines long or short") {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    for (const int64_t last : {1, 3, 16, 40}) {
      check_padded<float>(random, 1 + i % 4, last);
      check_padded<int8_t>(random, 1 + i % 4, last);
      check_padded<double>(random, 1 + i % 4, last);
    }
  }
}
