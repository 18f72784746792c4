#include "core/ops/math/special_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/math/gamma_functions.h"

namespace emplace {
namespace {

constexpr double kTiny = 1e-300, kSpecialEpsilon = 1e-17;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kHalfPi = 1.57079632679489661923;
constexpr int kMostTerms = 100000;

/// x^a exp(-x) / gamma(a)
double gamma_weight(double a, double x) { return std::exp(a * std::log(x) - x - lgamma_of(a)); }

double gamma_series(double a, double x) {
  double term = 1 / a, sum = term, n = a;
  for (int i = 0; i < kMostTerms && std::fabs(term) > kSpecialEpsilon * std::fabs(sum); ++i) {
    n += 1;
    term *= x / n;
    sum += term;
  }
  return sum * gamma_weight(a, x);
}

/// The derivative by a of the series P(a, x) = weight * sum of x^n / ((a + 1) ... (a + n)), derived term by term, over
/// the weight, x^a exp(-x) / gamma(a + 1).
double slope_over_weight(double a, double x) {
  double term = 1, sum = 1, harmonic = 0, slope = 0;
  for (int n = 1; n < kMostTerms; ++n) {
    term *= x / (a + n);
    harmonic += 1 / (a + n);
    sum += term;
    slope -= term * harmonic;
    if (n > x - a && term * harmonic < kSpecialEpsilon * std::fabs(slope)) break;
  }
  return (std::log(x) - digamma_of(a + 1)) * sum + slope;
}

double gamma_fraction(double a, double x) {
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < kMostTerms; ++i) {
    const double factor = -i * (i - a);
    b += 2;
    d = factor * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + factor / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    if (std::fabs(d * c - 1) < 1e-16) break;
  }
  return h * gamma_weight(a, x);
}

double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::fabs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double factor : {even, odd}) {
      d = 1 + factor * d;
      if (std::fabs(d) < kTiny) d = kTiny;
      c = 1 + factor / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      d = 1 / d;
      change = d * c;
      h *= change;
    }
    if (std::fabs(change - 1) < 1e-16) break;
  }
  return h;
}

/// Acklam's rational approximation, 1.2e-9 of the quantile below a half.
double rough_quantile(double p) {
  constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                           1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                           -1.328068155288572e+01};
  constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                           -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
           ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
  }
  const double q = p - 0.5, r = q * q;
  return (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
         (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
}

/// The quantile of p <= 1/2, by two steps of Halley's method.
double lower_quantile(double p) {
  double x = rough_quantile(p);
  for (int i = 0; i < 2; ++i) {
    const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
    const double step = error * std::sqrt(4 * kHalfPi) * std::exp(x * x / 2);
    if (!std::isfinite(step)) break;
    x -= step / (1 + x * step / 2);
  }
  return x;
}

/// exp(-x) I_n(x) for x >= 0, n of 0 or 1: the power series, then the asymptotic one.
double bessel_ie(double x, int n) {
  if (x > 30) {
    double term = 1, sum = 1;
    for (int k = 1; k < 60; ++k) {
      const double odd = 2 * k - 1, next = -term * (4.0 * n * n - odd * odd) / (8.0 * k * x);
      if (std::fabs(next) >= std::fabs(term) || next == 0) break;
      sum += term = next;
    }
    return sum / std::sqrt(4 * kHalfPi * x);
  }
  double term = n == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 500 && term > kSpecialEpsilon * sum; ++k) {
    term *= x * x / 4 / (static_cast<double>(k) * (k + n));
    sum += term;
  }
  return sum * std::exp(-x);
}

/// Sum of z^k / k^2 for 0 <= z <= 1/2.
double dilogarithm(double z) {
  double power = z, sum = 0;
  for (int k = 1; k < 200 && power > 0; ++k) {
    const double term = power / (static_cast<double>(k) * k);
    sum += term;
    if (term < kSpecialEpsilon * sum) break;
    power *= z;
  }
  return sum;
}

/// Both Fresnel integrals of x >= 0.
struct Fresnel {
  double cos = 0, sin = 0;

  explicit Fresnel(double x) {
    const double t = kHalfPi * x * x;
    if (x < 1.8)
      by_series(x, t);
    else if (x > 1e8)
      cos = sin = 0.5;
    else
      by_fraction(x, t);
  }

 private:
  void by_series(double x, double t) {
    double term = x;  // x t^k / k!
    for (int k = 0; k < 100; ++k) {
      const double part = term / (2 * k + 1) * (k % 4 < 2 ? 1 : -1);
      (k % 2 == 0 ? cos : sin) += part;
      if (std::fabs(part) < kSpecialEpsilon * x) break;
      term *= t / (k + 1);
    }
  }
  /// (1 + i)/2 (1 - exp(i t) times erfc's fraction), by Lentz' method.
  void by_fraction(double x, double t) {
    using Complex = std::pair<double, double>;
    const auto times = [](Complex a, Complex b) {
      return Complex{a.first * b.first - a.second * b.second, a.first * b.second + a.second * b.first};
    };
    const auto inverse = [](Complex a) {
      const double size = a.first * a.first + a.second * a.second;
      return Complex{a.first / size, -a.second / size};
    };
    Complex b{1, -2 * t}, c{1 / kTiny, 0}, d = inverse(b), h = d;
    for (int k = 1, n = -1; k < kMostTerms; ++k) {
      n += 2;
      const double a = -static_cast<double>(n) * (n + 1);
      b.first += 4;
      d = inverse({a * d.first + b.first, a * d.second + b.second});
      const Complex c_inverse = inverse(c);
      c = {b.first + a * c_inverse.first, b.second + a * c_inverse.second};
      const Complex change = times(c, d);
      h = times(h, change);
      if (std::fabs(change.first - 1) + std::fabs(change.second) < 1e-16) break;
    }
    h = times(h, {x, -x});
    const Complex rest = times({std::cos(t), std::sin(t)}, h);
    const Complex whole = times({0.5, 0.5}, {1 - rest.first, -rest.second});
    cos = whole.first, sin = whole.second;
  }
};

}  // namespace

double lower_gamma_of(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNotANumber;
  if (x == 0) return 0;
  if (std::isinf(x)) return std::isinf(a) ? kNotANumber : 1;
  if (std::isinf(a)) return 0;
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double upper_gamma_of(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNotANumber;
  if (x == 0) return 1;
  if (std::isinf(x)) return std::isinf(a) ? kNotANumber : 0;
  if (std::isinf(a)) return 1;
  return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

double lower_gamma_slope_of(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNotANumber;
  if (x == 0 || std::isinf(x) || std::isinf(a)) return 0;
  return std::exp(a * std::log(x) - x - lgamma_of(a + 1)) * slope_over_weight(a, x);
}

// -(dP/da) / (dP/dx), where dP/dx = x^(a - 1) exp(-x) / gamma(a) is the density: the weights go.
double gamma_sample_slope_of(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNotANumber;
  if (x == 0) return 0;
  return -slope_over_weight(a, x) * x / a;
}

double incomplete_beta_of(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return kNotANumber;
  if (x == 0 || x == 1) return x;
  const double weight = std::exp(lgamma_of(a + b) - lgamma_of(a) - lgamma_of(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return weight * beta_fraction(a, b, x) / a;
  return 1 - weight * beta_fraction(b, a, 1 - x) / b;
}

double normal_quantile_of(double p) {
  if (!(p >= 0) || !(p <= 1)) return kNotANumber;
  if (p == 0 || p == 1) return p == 0 ? -kEndless : kEndless;
  return p <= 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}

double inverse_erf_of(double y) {
  if (!(y >= -1) || !(y <= 1)) return kNotANumber;
  if (y == 1 || y == -1) return y * kEndless;
  if (y == 0) return y;
  double x = std::fabs(y) < 1e-3 ? y * std::sqrt(kHalfPi / 2) : normal_quantile_of((1 + y) / 2) / std::sqrt(2.0);
  for (int i = 0; i < 2; ++i) {  // where 1 + y lost digits
    const double step = (y > 0.5    ? (1 - y) - std::erfc(x)
                         : y < -0.5 ? std::erfc(-x) - (1 + y)
                                    : std::erf(x) - y) *
                        std::sqrt(kHalfPi / 2) * std::exp(x * x);
    if (std::isfinite(step)) x -= step / (1 + x * step);
  }
  return x;
}

double bessel_i0e_of(double x) { return x != x ? x : std::isinf(x) ? 0 : bessel_ie(std::fabs(x), 0); }
double bessel_i1e_of(double x) {
  return x != x ? x : std::isinf(x) ? std::copysign(0, x) : std::copysign(bessel_ie(std::fabs(x), 1), x);
}

double spence_of(double x) {
  constexpr double kSixth = kHalfPi * kHalfPi * 2 / 3;  // pi^2 / 6
  if (!(x >= 0)) return kNotANumber;
  if (x == 0) return kSixth;
  if (std::isinf(x)) return -kEndless;
  if (x > 2) return -spence_of(1 / x) - std::log(x) * std::log(x) / 2;
  if (x < 0.5) return kSixth - std::log(x) * std::log1p(-x) - dilogarithm(x);
  if (x <= 1) return dilogarithm(1 - x);
  const double log = std::log(x);  // Li2(1 - x) by Landen's formula
  return -dilogarithm((x - 1) / x) - log * log / 2;
}

double fresnel_cos_of(double x) { return x != x ? x : std::copysign(Fresnel(std::fabs(x)).cos, x); }
double fresnel_sin_of(double x) { return x != x ? x : std::copysign(Fresnel(std::fabs(x)).sin, x); }

double dawson_of(double x) {
  if (x != x) return x;
  const double size = std::fabs(x);
  if (size < 6) {
    double term = size, sum = size;  // exp(-x^2) sum of x^(2k+1) / (k! (2k+1))
    for (int k = 1; k < 400; ++k) {
      term *= size * size / k;
      const double part = term / (2 * k + 1);
      sum += part;
      if (part < kSpecialEpsilon * sum) break;
    }
    return std::copysign(sum * std::exp(-size * size), x);
  }
  double term = 1 / (2 * size), sum = term;
  for (int k = 1; k < 60; ++k) {
    const double next = term * (2 * k - 1) / (2 * size * size);
    if (!(next < term) || next < kSpecialEpsilon * sum) break;
    sum += term = next;
  }
  return std::copysign(sum, x);
}

double exponential_integral_of(double x) {
  constexpr double kEuler = 0.57721566490153286061;
  if (!(x >= 0)) return kNotANumber;
  if (x == 0) return -kEndless;
  if (std::isinf(x)) return kEndless;
  if (x <= 40) {
    double term = 1, sum = 0;
    for (int k = 1; k < 500; ++k) {
      term *= x / k;
      sum += term / k;
      if (term / k < kSpecialEpsilon * sum) break;
    }
    return kEuler + std::log(x) + sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double next = term * k / x;
    if (next >= term || next < kSpecialEpsilon) break;
    sum += term = next;
  }
  return std::exp(x) / x * sum;
}

}  // namespace emplace
