/// Complex numbers for kernels: laid out as std::complex, whose functions a GPU has not. Products and quotients by the
/// plain formulas, as the CPU's (core/ops/kit/numeric.h).
#pragma once

#include <cmath>

#include "core/base/dtype.h"
#include "cuda/device_code.h"

namespace emplace {
namespace cuda {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;

  Complex() = default;
  EMPLACE_HD Complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}
  EMPLACE_HD Complex operator-() const { return {-re, -im}; }
  EMPLACE_HD friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  EMPLACE_HD friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  EMPLACE_HD friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  EMPLACE_HD friend Complex operator/(Complex a, Complex b) {
    const T scale = std::fabs(b.re) > std::fabs(b.im) ? std::fabs(b.re) : std::fabs(b.im);
    const T c = b.re / scale, d = b.im / scale, norm = c * c + d * d;
    return {(a.re * c + a.im * d) / norm / scale, (a.im * c - a.re * d) / norm / scale};
  }
  EMPLACE_HD friend Complex operator/(Complex a, T b) { return {a.re / b, a.im / b}; }
  EMPLACE_HD Complex& operator+=(Complex b) { return *this = *this + b; }
  EMPLACE_HD Complex& operator-=(Complex b) { return *this = *this - b; }
  EMPLACE_HD friend bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  EMPLACE_HD friend bool operator!=(Complex a, Complex b) { return !(a == b); }
};
using complex64 = Complex<float>;
using complex128 = Complex<double>;

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<Complex<T>> = true;

template <class T>
EMPLACE_HD Complex<T> conjugate(Complex<T> x) {
  return {x.re, -x.im};
}
template <class T>
EMPLACE_HD T conjugate(T x) {
  return x;
}
template <class T>
EMPLACE_HD T magnitude(Complex<T> x) {
  return std::hypot(x.re, x.im);
}

/// The root whose real part is not negative.
template <class T>
EMPLACE_HD Complex<T> square_root(Complex<T> x) {
  if (x == Complex<T>(0)) return x;
  const T t = std::sqrt((magnitude(x) + std::fabs(x.re)) / 2);
  return x.re >= 0 ? Complex<T>(t, x.im / (2 * t)) : Complex<T>(std::fabs(x.im) / (2 * t), std::copysign(t, x.im));
}

template <class T>
EMPLACE_HD Complex<T> exp_of(Complex<T> x) {
  const T scale = std::exp(x.re);
  return x.im == T(0) ? Complex<T>(scale, x.im) : Complex<T>(scale * std::cos(x.im), scale * std::sin(x.im));
}
template <class T>
EMPLACE_HD Complex<T> log_of(Complex<T> x) {
  return {std::log(magnitude(x)), std::atan2(x.im, x.re)};
}
/// log(1 + x), with its digits also where x is little.
template <class T>
EMPLACE_HD Complex<T> log1p_of(Complex<T> x) {
  if (std::fabs(x.re) > T(0.5) || std::fabs(x.im) > T(0.5)) return log_of(Complex<T>(x.re + T(1), x.im));
  return {std::log1p(x.re * (T(2) + x.re) + x.im * x.im) / T(2), std::atan2(x.im, x.re + T(1))};
}
template <class T>
EMPLACE_HD Complex<T> sin_of(Complex<T> x) {
  return {std::sin(x.re) * std::cosh(x.im), std::cos(x.re) * std::sinh(x.im)};
}
template <class T>
EMPLACE_HD Complex<T> cos_of(Complex<T> x) {
  return {std::cos(x.re) * std::cosh(x.im), -(std::sin(x.re) * std::sinh(x.im))};
}
template <class T>
EMPLACE_HD Complex<T> sinh_of(Complex<T> x) {
  return {std::sinh(x.re) * std::cos(x.im), std::cosh(x.re) * std::sin(x.im)};
}
template <class T>
EMPLACE_HD Complex<T> cosh_of(Complex<T> x) {
  return {std::cosh(x.re) * std::cos(x.im), std::sinh(x.re) * std::sin(x.im)};
}
/// (sin 2a + i sinh 2b) / (cos 2a + cosh 2b), which is i's sign where sinh would overflow.
template <class T>
EMPLACE_HD Complex<T> tan_of(Complex<T> x) {
  if (std::fabs(x.im) > T(20)) return {T(0), std::copysign(T(1), x.im)};
  const T base = std::cos(2 * x.re) + std::cosh(2 * x.im);
  return {std::sin(2 * x.re) / base, std::sinh(2 * x.im) / base};
}

}  // namespace cuda

#ifndef __CUDACC_RTC__
template <>
inline constexpr DType dtype_of<cuda::complex64> = DType::kComplex64;
template <>
inline constexpr DType dtype_of<cuda::complex128> = DType::kComplex128;
#endif

}  // namespace emplace
