// MatrixSquareRoot and MatrixLogarithm: the principal ones, by the triangle that Schur's decomposition leaves.
#include <algorithm>
#include <cmath>

#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/linear/decompositions.h"

namespace emplace {
namespace {

Status matrix_function_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape s, c.with_rank_at_least(0, 2));
  if (!s.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(const int64_t n, ShapeContext::merge_dim(s.dim(s.rank() - 2), s.dim(s.rank() - 1)));
  s.dim(s.rank() - 2) = s.dim(s.rank() - 1) = n;
  c.set_output(0, s);
  return ok_status();
}

/// An n x n matrix of complex numbers.
class Square {
 public:
  explicit Square(int64_t n) : n_(n), numbers_(static_cast<size_t>(n * n)) {}
  int64_t size() const { return n_; }
  complex128& at(int64_t i, int64_t j) { return numbers_[static_cast<size_t>(i * n_ + j)]; }
  const complex128& at(int64_t i, int64_t j) const { return numbers_[static_cast<size_t>(i * n_ + j)]; }

  /// Rows p and q, of which q becomes zero in column `of_zero` by the rotation [c, s; -s^*, c]; columns likewise.
  void rotate_rows(int64_t p, int64_t q, double c, complex128 s) {
    for (int64_t j = 0; j < n_; ++j) {
      const complex128 x = at(p, j), y = at(q, j);
      at(p, j) = c * x + s * y;
      at(q, j) = c * y - std::conj(s) * x;
    }
  }
  void rotate_columns(int64_t p, int64_t q, double c, complex128 s) {
    for (int64_t i = 0; i < n_; ++i) {
      const complex128 x = at(i, p), y = at(i, q);
      at(i, p) = c * x + std::conj(s) * y;
      at(i, q) = c * y - s * x;
    }
  }

 private:
  int64_t n_;
  ScratchVector<complex128> numbers_;
};

struct PlaneRotation {
  double c = 1;
  complex128 s = 0;

  /// Turns (x, y) into (something, 0).
  static PlaneRotation of(complex128 x, complex128 y) {
    const double size = std::hypot(std::abs(x), std::abs(y));
    if (std::abs(y) == 0 || size == 0) return {};
    if (std::abs(x) == 0) return {0, std::conj(y) / std::abs(y)};
    return {std::abs(x) / size, x / std::abs(x) * std::conj(y) / size};
  }
};

/// a = u t u^H with t upper triangular, in place of a. False where that does not come to an end (NaN).
bool decompose_schur(Square& a, Square& u) {
  const int64_t n = a.size();
  for (int64_t i = 0; i < n; ++i) u.at(i, i) = 1;
  const auto rotate = [&](int64_t p, int64_t q, const PlaneRotation& r) {
    a.rotate_rows(p, q, r.c, r.s);
    a.rotate_columns(p, q, r.c, r.s);
    u.rotate_columns(p, q, r.c, r.s);
  };
  for (int64_t k = 0; k + 2 < n; ++k) {
    for (int64_t i = n - 1; i > k + 1; --i) {
      rotate(i - 1, i, PlaneRotation::of(a.at(i - 1, k), a.at(i, k)));
      a.at(i, k) = 0;
    }
  }
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  int64_t last = n - 1;
  ScratchVector<PlaneRotation> rotations(static_cast<size_t>(n));
  for (int64_t step = 0; last > 0; ++step) {
    if (step > 100 * n) return false;
    int64_t first = last;
    for (; first > 0; --first) {
      const double beside = std::abs(a.at(first, first)) + std::abs(a.at(first - 1, first - 1));
      if (std::abs(a.at(first, first - 1)) > kEpsilon * beside) continue;
      if (!(std::abs(a.at(first, first - 1)) <= kEpsilon * beside)) return false;
      a.at(first, first - 1) = 0;
      break;
    }
    if (first == last) {
      --last, step = 0;
      continue;
    }
    // Wilkinson's shift: the eigenvalue of the last two rows that is nearer to the corner; now and then another.
    const complex128 p = a.at(last - 1, last - 1), q = a.at(last, last);
    const complex128 half = (p - q) / 2.0, root = std::sqrt(half * half + a.at(last - 1, last) * a.at(last, last - 1));
    const complex128 more = std::abs(half + root) < std::abs(half - root) ? half + root : half - root;
    const complex128 shift = step % 11 == 10 ? q + std::abs(a.at(last, last - 1)) : q + more;
    for (int64_t i = first; i <= last; ++i) a.at(i, i) -= shift;
    for (int64_t i = first; i < last; ++i) {
      const PlaneRotation r = PlaneRotation::of(a.at(i, i), a.at(i + 1, i));
      rotations[static_cast<size_t>(i)] = r;
      a.rotate_rows(i, i + 1, r.c, r.s);
      a.at(i + 1, i) = 0;
    }
    for (int64_t i = first; i < last; ++i) {
      const PlaneRotation& r = rotations[static_cast<size_t>(i)];
      a.rotate_columns(i, i + 1, r.c, r.s);
      u.rotate_columns(i, i + 1, r.c, r.s);
    }
    for (int64_t i = first; i <= last; ++i) a.at(i, i) += shift;
  }
  return true;
}

/// The root of an upper triangular matrix: column after column, from the diagonal up.
Square root_of_triangle(const Square& t) {
  const int64_t n = t.size();
  Square r(n);
  for (int64_t j = 0; j < n; ++j) {
    r.at(j, j) = std::sqrt(t.at(j, j));
    for (int64_t i = j; i-- > 0;) {
      complex128 sum = t.at(i, j);
      for (int64_t k = i + 1; k < j; ++k) sum -= r.at(i, k) * r.at(k, j);
      r.at(i, j) =
          sum == complex128(0) && r.at(i, i) + r.at(j, j) != complex128(0) ? 0 : sum / (r.at(i, i) + r.at(j, j));
    }
  }
  return r;
}

/// x = (1 + s w)^-1 w for upper triangular w.
Square shifted_quotient(const Square& w, double s) {
  const int64_t n = w.size();
  Square x(n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j + 1; i-- > 0;) {
      complex128 sum = w.at(i, j);
      for (int64_t k = i + 1; k <= j; ++k) sum -= s * w.at(i, k) * x.at(k, j);
      x.at(i, j) = sum / (1.0 + s * w.at(i, i));
    }
  }
  return x;
}

/// The logarithm of an upper triangular matrix: roots until it is near one, there Gauss and Legendre's quadrature of
/// the integral of w / (1 + s w), which is Pade's approximation (Higham, "Functions of Matrices", 2008, chapter 11).
Square logarithm_of_triangle(const Square& triangle) {
  constexpr int kNodes = 8, kMostRoots = 100;
  static constexpr double kPlaces[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
  static constexpr double kWeights[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
  Square t = triangle;
  const int64_t n = t.size();
  const auto distance = [&] {
    double most = 0;
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i <= j; ++i) sum += std::abs(t.at(i, j) - (i == j ? 1.0 : 0.0));
      most = std::max(most, sum);
    }
    return most;
  };
  ScratchVector<complex128> logs;
  for (int64_t i = 0; i < n; ++i) logs.push_back(std::log(t.at(i, i)));
  double scale = 1;
  for (int roots = 0; distance() > 0.1 && roots < kMostRoots; ++roots, scale *= 2) t = root_of_triangle(t);
  for (int64_t i = 0; i < n; ++i) t.at(i, i) -= 1.0;
  Square log(n);
  for (int node = 0; node < kNodes; ++node) {
    const double place = (node % 2 == 0 ? 1 : -1) * kPlaces[node / 2], weight = kWeights[node / 2] / 2;
    const Square part = shifted_quotient(t, (1 + place) / 2);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i; j < n; ++j) log.at(i, j) += scale * weight * part.at(i, j);
    }
  }
  for (int64_t i = 0; i < n; ++i) log.at(i, i) = logs[static_cast<size_t>(i)];
  return log;
}

/// u f u^H of an upper triangular f.
Square turned_back(const Square& f, const Square& u) {
  const int64_t n = f.size();
  Square half(n), whole(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t j = k; j < n; ++j) half.at(i, j) += u.at(i, k) * f.at(k, j);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = 0; k < n; ++k) whole.at(i, j) += half.at(i, k) * std::conj(u.at(j, k));
    }
  }
  return whole;
}

/// Of real matrices the real part, where that is all; else NaN, as in TensorFlow.
template <class T>
void put_real(const Square& from, const Square& triangle, T* to) {
  const int64_t n = from.size();
  bool real = true;
  for (int64_t i = 0; i < n; ++i) {
    const complex128 root = triangle.at(i, i);
    real = real && root.real() > 1e-7 * std::abs(root);  // that of a negative eigenvalue is imaginary
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j)
      to[i * n + j] = real ? static_cast<T>(from.at(i, j).real()) : std::numeric_limits<T>::quiet_NaN();
  }
}

template <class T, Square (*kFunction)(const Square&)>
Status matrix_function_cpu(KernelContext& c) {
  const Shape& s = c.input(0).shape();
  const int64_t n = s.dim_from_end(1);
  const double cost = 60.0 * static_cast<double>(n * n * n) + 100;
  c.parallel_for(dense::num_matrices(s), c.output(0).num_elements() > 0 ? cost : 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end && n > 0; ++at) {
      Square a(n), u(n);
      const T* from = c.in<T>(0) + at * n * n;
      T* to = c.out<T>(0) + at * n * n;
      for (int64_t i = 0; i < n * n; ++i) a.at(i / n, i % n) = complex128(from[i]);
      if (!decompose_schur(a, u)) {
        std::fill_n(to, n * n, T(std::numeric_limits<dense::Real<T>>::quiet_NaN()));
        continue;
      }
      const Square triangle = kFunction(a), whole = turned_back(triangle, u);
      if constexpr (kIsComplex<T>) {
        for (int64_t i = 0; i < n * n; ++i) to[i] = static_cast<T>(whole.at(i / n, i % n));
      } else {
        put_real(whole, triangle, to);
      }
    }
  });
  return ok_status();
}

// --- the gradient of the root: TensorFlow's, python/ops/linalg_grad.py. R dR + dR R = dA as one system.

Value turned(GradientContext& g, Value matrices) {
  const int rank = g.shape(g.input(0)).rank();
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
  std::swap(order[static_cast<size_t>(rank - 1)], order[static_cast<size_t>(rank - 2)]);
  return g.add("Transpose", {matrices, g.ints(order)});
}

Status square_root_gradient(GradientContext& g) {
  const Shape& known = g.shape(g.input(0));
  if (!known.rank_known()) return unimplemented("the gradient of MatrixSquareRoot of unknown rank");
  const Value root = g.output(0), shape = g.shape_of(root), batch = g.slice(shape, 0, -2);
  const Value order = g.slice(shape, -1), one = g.ints({1}), square = g.mul(order, order);
  const Value ones = g.add("OnesLike", {g.add("MatrixDiagPart", {root})});
  const Value eye = g.add("MatrixDiag", {ones});
  const auto kronecker = [&](Value a, Value b) {
    const Value left = g.reshape(a, g.concat({batch, order, one, order, one}));
    const Value right = g.reshape(b, g.concat({batch, one, order, one, order}));
    return g.reshape(g.mul(left, right), g.concat({batch, square, square}));
  };
  const Value system = g.add("AddV2", {kronecker(eye, turned(g, root)), kronecker(root, eye)}, {}, "add");
  const Value column = g.reshape(turned(g, g.grad(0)), g.concat({batch, square, one}));
  g.set(0, turned(g, g.reshape(g.add("MatrixSolve", {system, column}), shape)));
  return g.status();
}

}  // namespace

OpDef matrix_square_root_op() {
  return OpDef("MatrixSquareRoot")
      .doc("The matrix whose product with itself is the input, of all of them that whose eigenvalues lie to the right.")
      .shape(matrix_function_shape)
      .cpu<float>(stateless<matrix_function_cpu<float, root_of_triangle>>)
      .cpu<double>(stateless<matrix_function_cpu<double, root_of_triangle>>)
      .cpu<complex64>(stateless<matrix_function_cpu<complex64, root_of_triangle>>)
      .cpu<complex128>(stateless<matrix_function_cpu<complex128, root_of_triangle>>)
      .gradient(square_root_gradient);
}
OpDef matrix_logarithm_op() {
  return OpDef("MatrixLogarithm")
      .doc("The matrix whose exponential is the input, of all of them that whose eigenvalues are nearest to 0.")
      .shape(matrix_function_shape)
      .cpu<complex64>(stateless<matrix_function_cpu<complex64, logarithm_of_triangle>>)
      .cpu<complex128>(stateless<matrix_function_cpu<complex128, logarithm_of_triangle>>);
}

}  // namespace emplace
