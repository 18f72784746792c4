/// Decompositions of one dense matrix, row-major: Q R by reflections, eigenvalues and singular values by rotations
/// (Jacobi's method), which finds small ones to full precision. All in double or complex double.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/scratch_vector.h"
#include "core/ops/linear/dense_solver.h"

namespace emplace::dense {

template <class T>
using Wide = std::conditional_t<kIsComplex<T>, complex128, double>;
template <class W>
using Matrix = ScratchVector<W>;

inline constexpr int kMostSweeps = 60;  // of rotations over all pairs: 6 to 10 are usual

template <class W>
struct Rotation {
  double c, s;
  W turn;  // makes the pair's product real

  /// For a pair whose product is `product`, and their squares' difference `difference`.
  static Rotation of(W product, double difference) {
    const double size = std::abs(product), theta = difference / (2 * size);
    const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const double c = 1 / std::sqrt(t * t + 1);
    return {c, t * c, conjugate(product) / size};
  }
  void columns(W* a, int64_t rows, int64_t stride, int64_t p, int64_t q) const {
    for (int64_t k = 0; k < rows; ++k) {
      const W x = a[k * stride + p], y = a[k * stride + q] * turn;
      a[k * stride + p] = c * x - s * y;
      a[k * stride + q] = s * x + c * y;
    }
  }
};

template <class W>
Matrix<W> identity(int64_t n) {
  Matrix<W> m(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) m[static_cast<size_t>(i * n + i)] = W(1);
  return m;
}

/// The eigenvalues of a Hermitian n x n matrix, on its diagonal then, and eigenvectors as columns of v.
template <class W>
void rotate_eigen(Matrix<W>& a, Matrix<W>& v, int64_t n) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  double all = 0;
  for (const W& x : a) all += std::norm(x);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool moved = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const W product = a[static_cast<size_t>(p * n + q)];
        if (!(std::norm(product) > kEpsilon * kEpsilon * all / static_cast<double>(n * n))) continue;
        moved = true;
        const auto r = Rotation<W>::of(
            product, std::real(a[static_cast<size_t>(q * n + q)]) - std::real(a[static_cast<size_t>(p * n + p)]));
        r.columns(a.data(), n, n, p, q);
        for (int64_t k = 0; k < n; ++k) {
          const W x = a[static_cast<size_t>(p * n + k)], y = a[static_cast<size_t>(q * n + k)] * conjugate(r.turn);
          a[static_cast<size_t>(p * n + k)] = r.c * x - r.s * y;
          a[static_cast<size_t>(q * n + k)] = r.s * x + r.c * y;
        }
        if (!v.empty()) r.columns(v.data(), n, n, p, q);
      }
    }
    if (!moved) return;
  }
}

/// Rotates the columns of u (m x n, m >= n) until they are orthogonal: u = (what it was) v.
template <class W>
void rotate_columns(Matrix<W>& u, Matrix<W>& v, int64_t m, int64_t n) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool moved = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        double pp = 0, qq = 0;
        W pq = 0;
        for (int64_t k = 0; k < m; ++k) {
          const W x = u[static_cast<size_t>(k * n + p)], y = u[static_cast<size_t>(k * n + q)];
          pp += std::norm(x), qq += std::norm(y), pq += conjugate(x) * y;
        }
        if (!(std::abs(pq) > kEpsilon * std::sqrt(pp * qq))) continue;
        moved = true;
        const auto r = Rotation<W>::of(pq, qq - pp);
        r.columns(u.data(), m, n, p, q);
        r.columns(v.data(), n, n, p, q);
      }
    }
    if (!moved) return;
  }
}

/// Columns [have, columns) of u (m x columns) become a basis of what the columns before them leave.
template <class W>
void complete_basis(Matrix<W>& u, int64_t m, int64_t columns, int64_t have) {
  int64_t unit = 0;
  for (int64_t j = have; j < columns && unit < m; ++unit) {
    for (int64_t k = 0; k < m; ++k) u[static_cast<size_t>(k * columns + j)] = k == unit ? W(1) : W(0);
    for (int again = 0; again < 2; ++again) {
      for (int64_t i = 0; i < j; ++i) {
        W part = 0;
        for (int64_t k = 0; k < m; ++k)
          part += conjugate(u[static_cast<size_t>(k * columns + i)]) * u[static_cast<size_t>(k * columns + j)];
        for (int64_t k = 0; k < m; ++k)
          u[static_cast<size_t>(k * columns + j)] -= part * u[static_cast<size_t>(k * columns + i)];
      }
    }
    double left = 0;
    for (int64_t k = 0; k < m; ++k) left += std::norm(u[static_cast<size_t>(k * columns + j)]);
    if (left < 0.25 / static_cast<double>(m)) continue;  // that unit vector lies in what there is
    for (int64_t k = 0; k < m; ++k) u[static_cast<size_t>(k * columns + j)] /= std::sqrt(left);
    ++j;
  }
}

/// a (m x n) becomes R above its diagonal; q (m x m, an identity) becomes Q.
template <class W>
void reflect(Matrix<W>& a, Matrix<W>& q, int64_t m, int64_t n) {
  Matrix<W> v(static_cast<size_t>(m));
  // rows of `x` (m x width) from row k on -= factor * v (v^H x)
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    const W head = a[static_cast<size_t>(k * n + k)];
    double tail = 0;
    for (int64_t i = k + 1; i < m; ++i) tail += std::norm(a[static_cast<size_t>(i * n + k)]);
    if (tail == 0 && std::imag(head) == 0) continue;
    double beta = std::sqrt(std::norm(head) + tail);
    if (std::real(head) >= 0) beta = -beta;
    v[static_cast<size_t>(k)] = W(1);
    for (int64_t i = k + 1; i < m; ++i) v[static_cast<size_t>(i)] = a[static_cast<size_t>(i * n + k)] / (head - beta);
    const W tau = conjugate((beta - head) / beta);
    for (int64_t j = k; j < n; ++j) {  // a = (1 - tau v v^H) a
      W dot = 0;
      for (int64_t i = k; i < m; ++i) dot += conjugate(v[static_cast<size_t>(i)]) * a[static_cast<size_t>(i * n + j)];
      for (int64_t i = k; i < m; ++i) a[static_cast<size_t>(i * n + j)] -= tau * v[static_cast<size_t>(i)] * dot;
    }
    for (int64_t i = 0; i < m; ++i) {  // q = q (1 - tau v v^H)^H
      W dot = 0;
      for (int64_t j = k; j < m; ++j) dot += q[static_cast<size_t>(i * m + j)] * v[static_cast<size_t>(j)];
      for (int64_t j = k; j < m; ++j)
        q[static_cast<size_t>(i * m + j)] -= conjugate(tau) * dot * conjugate(v[static_cast<size_t>(j)]);
    }
  }
}

}  // namespace emplace::dense
