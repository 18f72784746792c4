/// Dense linear algebra on small row-major matrices: LU with row exchanges, Cholesky, triangular solves. For real and
/// complex elements; halves are computed in float.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/shape.h"
#include "core/ops/kit/numeric.h"

namespace emplace::dense {

/// How many matrices a tensor is: its two last dimensions are those of one.
inline int64_t num_matrices(const Shape& s) {
  int64_t n = 1;
  for (int d = 0; d + 2 < s.rank(); ++d) n *= s.dim(d);
  return n;
}

/// What a matrix of T is computed in.
template <class T>
using Work = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

template <class T>
T conjugate(T x) {
  if constexpr (kIsComplex<T>)
    return std::conj(x);
  else
    return x;
}

/// Makes the n x n matrix its conjugate transpose.
template <class T>
void adjoin(T* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    a[i * n + i] = conjugate(a[i * n + i]);
    for (int64_t j = 0; j < i; ++j) {
      const T low = a[i * n + j];
      a[i * n + j] = conjugate(a[j * n + i]);
      a[j * n + i] = conjugate(low);
    }
  }
}

/// P a = L U in place of a; rows[i] is the row that stood where i is now. The number of exchanges.
template <class T>
int64_t factor_lu(T* a, int64_t n, int64_t* rows) {
  int64_t exchanges = 0;
  for (int64_t i = 0; i < n; ++i) rows[i] = i;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    if (pivot != k) {
      for (int64_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
      std::swap(rows[k], rows[pivot]);
      ++exchanges;
    }
    if (a[k * n + k] == T(0)) continue;
    for (int64_t i = k + 1; i < n; ++i) {
      const T factor = a[i * n + k] /= a[k * n + k];
      if (factor == T(0)) continue;
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return exchanges;
}

/// Is every element of the diagonal more than nothing?
template <class T>
bool has_full_diagonal(const T* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (!(std::abs(a[i * n + i]) > Real<T>(0))) return false;
  }
  return true;
}

struct Triangle {
  bool lower = true;
  bool unit = false;     // its diagonal counts as ones
  bool adjoint = false;  // its conjugate transpose is meant
};

/// x = a^-1 x for x of n x `columns`.
template <class T>
void solve_triangle(const T* a, int64_t n, T* x, int64_t columns, Triangle t) {
  const bool forward = t.lower != t.adjoint;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    T* row = x + i * columns;
    for (int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); ++k) {
      const T factor = t.adjoint ? conjugate(a[k * n + i]) : a[i * n + k];
      for (int64_t j = 0; j < columns; ++j) row[j] -= factor * x[k * columns + j];
    }
    if (t.unit) continue;
    const T pivot = t.adjoint ? conjugate(a[i * n + i]) : a[i * n + i];
    for (int64_t j = 0; j < columns; ++j) row[j] /= pivot;
  }
}

/// a = L L^H, of which the lower half is read: L in place of a, zeros above. Where there is none: NaN, as in
/// TensorFlow.
template <class T>
void factor_cholesky(T* a, int64_t n) {
  bool good = true;
  for (int64_t j = 0; j < n; ++j) {
    Real<T> diagonal = std::real(a[j * n + j]);
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(a[j * n + k]);
    good = good && diagonal > 0;
    diagonal = std::sqrt(diagonal);
    a[j * n + j] = T(diagonal);
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * conjugate(a[j * n + k]);
      a[i * n + j] = sum / diagonal;
      a[j * n + i] = T(0);
    }
  }
  if (good) return;
  for (int64_t i = 0; i < n; ++i) std::fill_n(a + i * n, i + 1, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

}  // namespace emplace::dense
