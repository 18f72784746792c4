#include "core/ops/audio/power_spectrum.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace emplace {

PowerSpectrum::PowerSpectrum(size_t length) : half_(length / 2), roots_(half_), order_(half_) {
  for (size_t k = 0; k < half_; ++k)
    roots_[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length));
  const int bits = std::countr_zero(half_);
  for (size_t i = 1; i < half_; ++i) order_[i] = order_[i / 2] / 2 | static_cast<uint32_t>((i & 1) << (bits - 1));
}

/// In place, of half the length, by pairs of ever longer transforms.
void PowerSpectrum::transform(Points& points) const {
  for (size_t i = 0; i < half_; ++i) {
    if (i < order_[i]) std::swap(points[i], points[order_[i]]);
  }
  for (size_t size = 1; size < half_; size *= 2) {
    const size_t step = half_ / size;  // between the roots of this stage
    for (size_t begin = 0; begin < half_; begin += 2 * size) {
      for (size_t k = 0; k < size; ++k) {
        std::complex<double>&a = points[begin + k], &b = points[begin + size + k];
        const std::complex<double> root = roots_[k * step];
        // Written out: the operator asks whether a product is a number.
        const std::complex<double> turned(b.real() * root.real() - b.imag() * root.imag(),
                                          b.real() * root.imag() + b.imag() * root.real());
        b = a - turned;
        a += turned;
      }
    }
  }
}

void PowerSpectrum::compute(std::span<const double> values, std::span<double> powers) const {
  // Two real numbers make a complex one: the even ones' transform and the odd ones' come apart again below.
  Points points(half_);
  for (size_t k = 0; k < half_; ++k) points[k] = {values[2 * k], values[2 * k + 1]};
  transform(points);
  for (size_t k = 0; k <= half_; ++k) {
    const std::complex<double> a = points[k % half_], b = std::conj(points[(half_ - k) % half_]);
    const std::complex<double> even = 0.5 * (a + b), odd = 0.5 * (a - b);
    const std::complex<double> root = k < half_ ? roots_[k] : std::complex<double>(-1, 0);
    // even - i * root * odd
    const double real = even.real() + (root.real() * odd.imag() + root.imag() * odd.real());
    const double imaginary = even.imag() - (root.real() * odd.real() - root.imag() * odd.imag());
    powers[k] = real * real + imaginary * imaginary;
  }
}

}  // namespace emplace
