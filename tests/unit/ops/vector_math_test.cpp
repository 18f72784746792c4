#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// Distance in representable values; results below the normal range count as zero.
double ulps(float got, long double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  const float nearest = static_cast<float>(want);
  if (std::isinf(nearest) || std::isinf(got))
    return got == nearest ? 0 : std::isinf(got) && std::fabs(nearest) > 3.4e38f ? 0 : 1e30;
  if (std::fabs(nearest) < 0x1p-126f) return std::fabs(got) <= 0x1p-126f ? 0 : 1e30;
  const int exponent = std::ilogb(nearest);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / std::ldexp(1.0L, exponent - 23));
}

double worst(std::string_view op, long double (*reference)(long double), float from, float to) {
  // Every 9973rd float of the range, both signs.
  std::vector<float> x;
  for (uint32_t b = std::bit_cast<uint32_t>(from); b <= std::bit_cast<uint32_t>(to); b += 9973) {
    x.push_back(std::bit_cast<float>(b));
    x.push_back(-std::bit_cast<float>(b));
  }
  for (float v : {0.0f, -0.0f, INFINITY, -INFINITY, NAN}) x.push_back(v);
  auto y = OpCase(op).in(tensor<float>({static_cast<int64_t>(x.size())}, x)).out(DType::kFloat).run();
  double most = 0;
  float at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulps((*y)[0].data<float>()[i], reference(x[i]));
    if (error > most) most = error, at = x[i];
  }
  UNSCOPED_INFO(op << " is worst at " << at << ": " << most << " ulp");
  return most;
}

}  // namespace

TEST_CASE("exp and its relatives stay within their stated errors over the whole range of float") {
  using F = long double;
  CHECK(worst(
            "Exp", [](F x) { return std::exp(x); }, 1e-10f, 110.0f) < 1.1);
  CHECK(worst(
            "Expm1", [](F x) { return std::expm1(x); }, 1e-30f, 110.0f) < 1.7);
  CHECK(worst(
            "Log", [](F x) { return std::log(x); }, 0x1p-126f, 3e38f) < 1.1);
  CHECK(worst(
            "Log1p", [](F x) { return std::log1p(x); }, 1e-30f, 3e38f) < 2.5);
  CHECK(worst(
            "Tanh", [](F x) { return std::tanh(x); }, 1e-30f, 200.0f) < 2.5);
  CHECK(worst(
            "Erf", [](F x) { return std::erf(x); }, 1e-30f, 200.0f) < 2.5);
  CHECK(worst(
            "Sigmoid", [](F x) { return 1 / (1 + std::exp(-x)); }, 1e-30f, 110.0f) < 2.6);
  CHECK(worst(
            "Softplus", [](F x) { return std::log1p(std::exp(x)); }, 1e-30f, 200.0f) < 4);
}

TEST_CASE("sines, cosines and powers are rounded from exact values, far away and for odd arguments too") {
  using F = long double;
  for (float to : {1e6f, 3e38f}) {  // the straight line alone, and with arguments for the library in every block
    CHECK(worst(
              "Sin", [](F x) { return std::sin(x); }, 1e-30f, to) < (to < 1e7f ? 0.51 : 1));
    CHECK(worst(
              "Cos", [](F x) { return std::cos(x); }, 1e-30f, to) < (to < 1e7f ? 0.51 : 1));
  }
  auto pow_of = [](std::vector<float> x, std::vector<float> y) {
    const auto xs = static_cast<int64_t>(x.size()), ys = static_cast<int64_t>(y.size());
    return values<float>((*OpCase("Pow")
                               .in(tensor<float>({xs}, std::move(x)))
                               .in(tensor<float>({ys}, std::move(y)))
                               .out(DType::kFloat)
                               .run())[0]);
  };
  std::vector<float> x, y;
  for (int i = 1; i < 20000; ++i) {
    const float sign = i % 3 ? 1.0f : -1.0f;
    x.push_back(sign * std::exp2(static_cast<float>(i % 251) - 125) * (1 + static_cast<float>(i % 97) / 97));
    y.push_back(i % 3 && i % 2 ? static_cast<float>(i % 83 - 41) / 7 : static_cast<float>(i % 9 - 4));
  }
  for (float odd : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 1e-40f, 0.5f, -2.0f, 3e38f}) {
    for (float power : {0.0f, 1.0f, -1.0f, 2.0f, 3.0f, 0.5f, -2.5f, INFINITY, -INFINITY, NAN, 1e9f, 16777215.0f})
      x.push_back(odd), y.push_back(power);
  }
  const auto z = pow_of(x, y);
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i]) == 1e-40f) continue;  // may count as zero
    const double error = ulps(z[i], std::pow(static_cast<F>(x[i]), static_cast<F>(y[i])));
    if (error > most) UNSCOPED_INFO(x[i] << " ^ " << y[i] << " = " << z[i] << ": " << error << " ulp");
    most = std::max(most, error);
  }
  CHECK(most < 0.6);
  for (int base = -30; base <= 30; ++base) {  // one power for all; whole numbers come out whole
    CHECK(pow_of({static_cast<float>(base), 2}, {3})[0] == static_cast<float>(base * base * base));
    CHECK(pow_of({static_cast<float>(base), 2}, {2})[0] == static_cast<float>(base * base));
  }
}
