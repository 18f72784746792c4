// Random numbers: the plug-in's kernels draw the CPU's, of every type, for sizes that end inside a group of them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

const std::vector<std::pair<std::string, AttrValue>> kSeeds{{"seed", AttrValue::of(int64_t{3})},
                                                            {"seed2", AttrValue::of(int64_t{5})}};
constexpr int32_t kSizes[] = {0, 1, 2, 3, 5, 255, 1026, 5003};

Tensor size_of(int32_t n) { return Tensor::of<int32_t>(Shape{1}, std::span<const int32_t>(&n, 1)); }

TEST_CASE("random numbers of a distribution are the CPU's, but for last bits of logarithms") {
  for (std::string_view op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    for (DType t : types_of(op)) {
      for (int32_t n : kSizes) {
        INFO(op << " " << dtype_name(t) << ", " << n);
        CHECK(check({op, {size_of(n)}, kSeeds, {t}, t}, op == "RandomUniform" ? 0 : 4) == "");
      }
    }
  }
}

TEST_CASE("random integers are the CPU's") {
  for (DType t : types_of("RandomUniformInt")) {
    for (int32_t n : kSizes) {
      INFO(dtype_name(t) << ", " << n);
      const Tensor low = uniform(t, Shape{}, -7, -7), high = uniform(t, Shape{}, 1000, 1000);
      CHECK(check({"RandomUniformInt", {size_of(n), low, high}, kSeeds, {t}, t}) == "");
    }
  }
}

TEST_CASE("random integers of a given stream are the CPU's, whatever the range") {
  constexpr std::array<uint64_t, 2> kCounter{5, 9};
  for (DType t : types_of("StatelessRandomUniformIntV2")) {
    const double most = t == DType::kInt32 ? 0x7fffff80p0 : 0x7ffffffffffffc00p0;
    for (auto [low, high] : {std::pair{-7.0, 1000.0}, {0.0, 1.0}, {-most, most}, {-most, -most + 1e6}}) {
      for (int32_t n : kSizes) {
        INFO(dtype_name(t) << ", " << n << " from " << low << " to " << high);
        CHECK(check({"StatelessRandomUniformIntV2",
                     {size_of(n), Tensor::of<uint64_t>(Shape{1}, std::span(kCounter).first(1)),
                      Tensor::of<uint64_t>(Shape{2}, kCounter), Tensor::scalar<int32_t>(1),
                      uniform(t, Shape{}, low, low), uniform(t, Shape{}, high, high)},
                     {},
                     {t},
                     t}) == "");
      }
    }
  }
}

TEST_CASE("classes are drawn by finite logits alone, however large these are") {
  const float infinite = std::numeric_limits<float>::infinity();
  for (float base : {0.f, 900.f, -900.f}) {
    std::vector<float> logits(4 * 9, base);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] += 0.25f * static_cast<float>(i % 7);
    logits[3] = infinite;
    logits[9 + 4] = -infinite;
    logits[18] = std::nanf("");
    INFO("about " << base);
    const KernelCase c{"Multinomial",
                       {Tensor::of<float>(Shape{4, 9}, std::span<const float>(logits)), Tensor::scalar<int32_t>(301)},
                       kSeeds,
                       {DType::kInt64}};
    CHECK(check(c) == "");
    const auto answers = run(c);
    REQUIRE(answers.ok());
    const auto* drawn = answers->gpu[0].data<int64_t>();
    CHECK(std::count(drawn, drawn + 301, 3) == 0);
    CHECK(std::count(drawn, drawn + 301, 8) > 10);
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
