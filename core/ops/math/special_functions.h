/// Special functions in double: the incomplete gamma and beta functions, inverses of the error function, Bessel
/// functions and integrals. Continued fractions and series as in Abramowitz and Stegun, and in Numerical Recipes' form
/// of Lentz.
#pragma once

namespace emplace {

/// P(a, x) and Q(a, x) = 1 - P(a, x): the regularized incomplete gamma functions. NaN outside of a > 0, x >= 0.
double lower_gamma_of(double a, double x);
double upper_gamma_of(double a, double x);
/// The derivative of the lower one by a.
double lower_gamma_slope_of(double a, double x);
/// How a number of the gamma distribution of shape a, x, moves with a, its place in the distribution held: the
/// derivative by which one learns through samples.
double gamma_sample_slope_of(double a, double x);
/// I_x(a, b), the regularized incomplete beta function. NaN outside of a, b > 0, 0 <= x <= 1.
double incomplete_beta_of(double a, double b, double x);
/// x of a probability of the normal distribution; of a value of erf.
double normal_quantile_of(double p);
double inverse_erf_of(double y);
/// exp(-|x|) times the modified Bessel functions of the first kind.
double bessel_i0e_of(double x);
double bessel_i1e_of(double x);
/// -(integral of log|t| / (t - 1) from 1 to x). NaN below 0.
double spence_of(double x);
/// The integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x.
double fresnel_cos_of(double x);
double fresnel_sin_of(double x);
/// exp(-x^2) times the integral of exp(t^2) from 0 to x.
double dawson_of(double x);
/// The exponential integral Ei. NaN below 0.
double exponential_integral_of(double x);

}  // namespace emplace
