// Simplify: which attrs, sizes and values a failure needs, how many tries that takes.
#include "core/report/reduce/simplify.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace emplace;

namespace {

Complexity of_sizes(std::set<int64_t> sizes) {
  Complexity parts;
  parts.sizes = std::move(sizes);
  return parts;
}

Tensor counted_up(const Shape& shape) {
  std::vector<int32_t> values(static_cast<size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::of<int32_t>(shape, values);
}

int64_t size_now(const Simpler& s, int64_t size) { return s.sizes.contains(size) ? s.sizes.at(size) : size; }

}  // namespace

TEST_CASE("sizes are halved as far as the failure stays", "[simplify]") {
  int64_t tries = 0;
  Simplify simplify(
      [&](const Simpler& s) -> Result<bool> { return ++tries, size_now(s, 1000) >= 17 && size_now(s, 64) >= 1; },
      of_sizes({64, 1000}), 100);
  const Result<Simpler> found = simplify.simplest();
  REQUIRE(found.ok());
  CHECK(size_now(*found, 1000) == 31);
  CHECK(size_now(*found, 64) == 1);
  CHECK(tries <= 25);
}

TEST_CASE("an attr that the failure needs stays, the others go", "[simplify]") {
  Complexity parts;
  for (NodeId node = 0; node < 20; ++node) parts.attrs.emplace_back(node, "T");
  Simplify simplify([](const Simpler& s) -> Result<bool> { return !s.no_attrs.contains({7, "T"}); }, parts, 100);
  const Result<Simpler> found = simplify.simplest();
  REQUIRE(found.ok());
  CHECK(found->no_attrs.size() == 19);
}

TEST_CASE("where neither 0 nor 1 does for all values, each gets its own", "[simplify]") {
  Complexity parts;
  parts.values = {{0, 0}, {1, 0}, {2, 0}};
  const auto value = [](const Simpler& s, NodeId node) {
    return int_at(s.value_of({node, 0}, Tensor::scalar<int32_t>(5)), 0);
  };
  Simplify simplify([&](const Simpler& s) -> Result<bool> { return value(s, 0) == 5 && value(s, 1) > 0; }, parts, 100);
  const Result<Simpler> found = simplify.simplest();
  REQUIRE(found.ok());
  CHECK(value(*found, 0) == 5);
  CHECK(value(*found, 1) == 1);
  CHECK(value(*found, 2) == 0);
}

TEST_CASE("no more tries than were allowed, and what was found until then stays", "[simplify]") {
  int64_t tries = 0;
  Complexity parts = of_sizes({1 << 20, 999'999});
  Simplify simplify([&](const Simpler& s) -> Result<bool> { return ++tries, size_now(s, 1 << 20) > 1; }, parts, 12);
  const Result<Simpler> found = simplify.simplest();
  REQUIRE(found.ok());
  CHECK(tries == 12);
  CHECK(found->no_devices);
}

TEST_CASE("a smaller tensor is the corner of the larger one", "[simplify]") {
  Simpler s;
  s.sizes = {{3, 2}, {4, 1}, {5, 3}};
  const Tensor corner = s.value_of({0, 0}, counted_up(Shape({3, 4, 5})));
  CHECK(corner.shape() == Shape({2, 1, 3}));
  CHECK(ints_of(corner) == std::vector<int64_t>{0, 1, 2, 20, 21, 22});
  s.numbers = {{4, 1}};
  CHECK(ints_of(s.value_of({0, 0}, Tensor::of<int32_t>(Shape({2}), std::vector<int32_t>{4, 7}))) ==
        std::vector<int64_t>{1, 7});
}
