#include "core/tensor/compare.h"

#include <catch2/catch.hpp>
#include <limits>

namespace emplace {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(std::vector<float> values) { return Tensor::of<float>({static_cast<int64_t>(values.size())}, values); }

TEST_CASE("elements within the tolerance are equal, NaN and infinities to themselves") {
  CHECK(compare(floats({1, 100, kNan, kInf, -kInf}), floats({1.0005f, 100.05f, kNan, kInf, -kInf}), 1e-3, 0).ok());
  CHECK(compare(floats({0.0f}), floats({1e-9f}), 0, 1e-8).ok());
  CHECK(compare(floats({0.0f}), floats({-0.0f}), 0, 0).ok());
  CHECK(compare(floats({}), floats({}), 0, 0).ok());
}

TEST_CASE("a difference is reported with count, place and size") {
  std::vector<float> found = {1, 2, 3, 4, 5, 7}, expected = {1, 2, 3, 4.5f, 5, 6};
  Status status = compare(Tensor::of<float>({2, 3}, found), Tensor::of<float>({2, 3}, expected), 1e-5, 1e-8);
  CHECK(status.code() == Code::kFailedPrecondition);
  CHECK(status.message() ==
        "2 of 6 elements differ, first at [1,0]: found 4.0, expected 4.5; largest difference 1, relative "
        "0.16666666666666666 (rtol 1e-05, atol 1e-08)");
}

TEST_CASE("NaN and infinities differ from everything else") {
  for (auto [found, expected] : {std::pair(kNan, 1.0f), {1.0f, kNan}, {kInf, -kInf}, {1.0f, kInf}, {kInf, 1.0f}}) {
    CHECK_FALSE(compare(floats({found}), floats({expected}), 1, 1).ok());
  }
  CHECK(compare(floats({kNan}), floats({1}), 0, 0).message() ==
        "1 of 1 elements differ, first at [0]: found nan, expected 1.0; largest difference 0, relative 0 (rtol 0, atol "
        "0)");
}

TEST_CASE("integers, bools and strings must be equal exactly") {
  CHECK(compare(Tensor::scalar<int64_t>(1000000), Tensor::scalar<int64_t>(1000001), 1e-3, 1).message() ==
        "1 of 1 elements differ, first at []: found 1000000, expected 1000001");
  CHECK(compare(Tensor::scalar(std::string("a")), Tensor::scalar(std::string("b")), 0, 0).message() ==
        "1 of 1 elements differ, first at []: found b'a', expected b'b'");
  CHECK(compare(Tensor::scalar(true), Tensor::scalar(true), 0, 0).ok());
}

TEST_CASE("dtype and shape must be equal") {
  CHECK(compare(floats({1}), Tensor::scalar(1.0f), 0, 0).message() == "found shape [1], expected []");
  CHECK(compare(floats({1}), Tensor::scalar(1.0), 0, 0).message() == "found dtype float32, expected float64");
}

TEST_CASE("complex numbers and halves are compared by distance") {
  using C = std::complex<float>;
  CHECK(compare(Tensor::scalar(C(3, 4)), Tensor::scalar(C(3, 4.001f)), 1e-3, 0).ok());
  CHECK_FALSE(compare(Tensor::scalar(C(3, 4)), Tensor::scalar(C(3, 4.1f)), 1e-3, 0).ok());
  CHECK(compare(Tensor::scalar(half(1.0f)), Tensor::scalar(half(1.001f)), 2e-3, 0).ok());
}

}  // namespace
}  // namespace emplace
