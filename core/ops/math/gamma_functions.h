/// The logarithm of the gamma function, its derivatives, and Hurwitz' zeta function, in double. CPU and GPU share them.
#pragma once

#include <cmath>
#include <limits>

#include "core/ops/kit/isa.h"

namespace emplace {

/// log |gamma(x)|
EMPLACE_INLINE double lgamma_of(double x) {
#ifdef __CUDA_ARCH__
  return lgamma(x);
#else
  int sign = 0;
  return ::lgamma_r(x, &sign);  // std::lgamma() writes a global variable
#endif
}

/// d/dx log gamma(x). NaN at 0, -1, -2, ...
EMPLACE_INLINE double digamma_of(double x) {
  constexpr double kPi = 3.14159265358979323846;
  double mirrored = 0;
  if (x <= 0) {
    const double fraction = x - std::round(x);  // from the nearest whole number, beside which digamma is large
    if (fraction == 0 || x != x || std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
    mirrored = std::fabs(fraction) == 0.5 ? 0 : kPi / std::tan(kPi * fraction);
    x = 1 - x;
  }
  double below = 0;  // digamma(x + 1) = digamma(x) + 1 / x
  for (; x < 10; x += 1) below += 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return std::log(x) - 0.5 / x - series - below - mirrored;
}

/// Sum of (q + n)^-x over n = 0, 1, ... for q > 0 and x > 1: some terms, then the Euler-Maclaurin formula.
EMPLACE_INLINE double zeta_of_positive(double x, double q) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
  double a = q, term = std::pow(q, -x), sum = term;
  for (int i = 0; i < 9 || a <= 9; ++i) {
    a += 1;
    term = std::pow(a, -x);
    sum += term;
    if (term <= kEpsilon * sum) return sum;
  }
  sum += term * a / (x - 1) - term / 2;
  // (2 k)! / B(2 k)
  constexpr double kDivisors[] = {12.0,
                                  -720.0,
                                  30240.0,
                                  -1209600.0,
                                  47900160.0,
                                  -1892437580.3183791606,
                                  74724249600.0,
                                  -2950130727918.1642244,
                                  1.1646782814350067249e14,
                                  -4.5979787224074726105e15,
                                  1.8152105401943546773e17,
                                  -7.1661652561756670113e18};
  double rising = 1, k = 0;
  for (double divisor : kDivisors) {
    rising *= x + k;
    term /= a;
    const double correction = rising * term / divisor;
    sum += correction;
    if (std::fabs(correction) < kEpsilon * std::fabs(sum)) break;
    rising *= x + k + 1;
    term /= a;
    k += 2;
  }
  return sum;
}

/// Sum of (q + n)^-x over n = 0, 1, ...; infinite at x = 1, NaN below.
EMPLACE_INLINE double zeta_of(double x, double q) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  if (x == 1) return kInfinity;
  if (!(x > 1) || q != q) return kNaN;
  if (q > 0) return zeta_of_positive(x, q);
  const bool whole = x == std::floor(x), even = whole && std::fmod(x, 2.0) == 0;
  if (q == std::floor(q)) return even ? kInfinity : kNaN;  // a term is 1 / 0
  if (!whole) return kNaN;
  // The terms below zero are those of |q|, |q| - 1, ..., f.
  const double m = std::floor(-q), f = -q - m;
  const double below = zeta_of_positive(x, f) - zeta_of_positive(x, 1 - q);
  return zeta_of_positive(x, 1 - f) + (even ? below : -below);
}

/// The n-th derivative of digamma. NaN unless n is 0, 1, 2, ...
EMPLACE_INLINE double polygamma_of(double n, double x) {
  if (!(n >= 0) || n != std::floor(n)) return std::numeric_limits<double>::quiet_NaN();
  if (n == 0) return digamma_of(x);
  const double magnitude = std::exp(lgamma_of(n + 1)) * zeta_of(n + 1, x);
  return std::fmod(n, 2.0) == 0 ? -magnitude : magnitude;
}

}  // namespace emplace
