#include "core/train/sample_array.h"

#include <catch2/catch.hpp>

namespace emplace {
namespace {

template <class T>
SampleArray array(const Shape& shape, std::vector<T> values) {
  return {Tensor::of<T>(shape, values), 1, 0, {}};
}

template <class T>
std::vector<T> gathered(const SampleArray& a, std::vector<int64_t> rows, bool& ok) {
  Tensor out = Tensor::allocate(dtype_of<T>, Shape{static_cast<int64_t>(rows.size()) * a.elements()}).take();
  ok = a.gather(rows, out).ok();
  return {out.flat<T>().begin(), out.flat<T>().end()};
}

}  // namespace

TEST_CASE("samples come in the asked order, converted and scaled") {
  bool ok = false;
  SampleArray bytes = array<uint8_t>(Shape{3, 2}, {0, 1, 2, 3, 4, 255});
  CHECK(gathered<uint8_t>(bytes, {2, 0}, ok) == std::vector<uint8_t>{4, 255, 0, 1});
  CHECK(gathered<int64_t>(bytes, {1}, ok) == std::vector<int64_t>{2, 3});
  bytes.scale = 1.0 / 255;
  bytes.offset = -0.5;
  CHECK(gathered<float>(bytes, {2}, ok) == std::vector<float>{static_cast<float>(4 * (1.0 / 255) - 0.5), 0.5f});
  bytes.columns = {1};
  CHECK(gathered<float>(bytes, {0}, ok) == std::vector<float>{static_cast<float>(1.0 / 255 - 0.5)});
}

TEST_CASE("what an integer type does not hold is an error") {
  bool ok = true;
  static_cast<void>(gathered<uint8_t>(array<int64_t>(Shape{1}, {256}), {0}, ok));
  CHECK_FALSE(ok);
  static_cast<void>(gathered<int32_t>(array<int64_t>(Shape{1}, {-5}), {0}, ok));
  CHECK(ok);
}

TEST_CASE("whole numbers feed anything, fractions floating-point types only") {
  CHECK(can_feed(DType::kUInt8, DType::kFloat, true));
  CHECK(can_feed(DType::kUInt8, DType::kInt64, false));
  CHECK_FALSE(can_feed(DType::kFloat, DType::kInt64, false));
  CHECK_FALSE(can_feed(DType::kUInt8, DType::kInt64, true));
  CHECK(can_feed(DType::kString, DType::kString, false));
  CHECK_FALSE(can_feed(DType::kString, DType::kFloat, false));
}

}  // namespace emplace
