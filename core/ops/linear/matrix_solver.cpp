// Cholesky, Lu, MatrixInverse, MatrixDeterminant, LogMatrixDeterminant, MatrixSolve and MatrixTriangularSolve: the
// innermost matrices, each by itself.
#include <algorithm>
#include <atomic>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/broadcast.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/linear/dense_solver.h"

namespace emplace {
namespace {

using dense::num_matrices;
using dense::Real;
using dense::Triangle;
using dense::Work;

constexpr double kCostOfTerm = 1.0;  // ns of a multiplication and a subtraction

/// Input `i` as square matrices.
Result<Shape> square_input(const ShapeContext& c, int i) {
  ASSIGN_OR_RETURN(Shape s, c.with_rank_at_least(i, 2));
  if (!s.rank_known()) return s;
  ASSIGN_OR_RETURN(const int64_t n, ShapeContext::merge_dim(s.dim(s.rank() - 2), s.dim(s.rank() - 1)));
  s.dim(s.rank() - 2) = s.dim(s.rank() - 1) = n;
  return s;
}

Status square_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, square_input(c, 0));
  c.set_output(0, s);
  return ok_status();
}

Status determinant_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, square_input(c, 0));
  ASSIGN_OR_RETURN(const Shape batch, subshape(s, 0, -2));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, batch);
  return ok_status();
}

/// `spreads`: batches are broadcast.
Status shape_of_solution(ShapeContext& c, bool spreads) {
  ASSIGN_OR_RETURN(const Shape a, square_input(c, 0));
  ASSIGN_OR_RETURN(const Shape b, c.with_rank_at_least(1, 2));
  ASSIGN_OR_RETURN(const Shape a_batch, subshape(a, 0, -2));
  ASSIGN_OR_RETURN(const Shape b_batch, subshape(b, 0, -2));
  ASSIGN_OR_RETURN(const Shape batch,
                   spreads ? broadcast_shapes(a_batch, b_batch) : ShapeContext::merge(a_batch, b_batch));
  if (!batch.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(const int64_t rows, ShapeContext::merge_dim(dim_or_unknown(a, -1), dim_or_unknown(b, -2)));
  c.set_output(0, concat_shapes(batch, Shape{rows, dim_or_unknown(b, -1)}));
  return ok_status();
}

Status solve_shape(ShapeContext& c) { return shape_of_solution(c, false); }
Status triangular_solve_shape(ShapeContext& c) { return shape_of_solution(c, true); }

using MatrixBody = bool (*)(const void* closure, int64_t number);
bool each_erased(KernelContext& c, int64_t count, int64_t terms, MatrixBody body, const void* closure) {
  std::atomic<bool> good{true};
  c.parallel_for(count, kCostOfTerm * static_cast<double>(terms) + 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!body(closure, i)) good = false;
    }
  });
  return good;
}

/// Calls f(number of the matrix) for each of `count`, which takes so many multiplications. False if it was for one.
template <class F>
bool each_matrix(KernelContext& c, int64_t count, int64_t terms, const F& f) {
  return each_erased(
      c, count, terms, [](const void* closure, int64_t i) { return (*static_cast<const F*>(closure))(i); }, &f);
}

template <class T>
ScratchVector<Work<T>> copied(const T* from, int64_t n) {
  ScratchVector<Work<T>> to(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) to[static_cast<size_t>(i)] = static_cast<Work<T>>(from[i]);
  return to;
}

template <class T>
Status cholesky_cpu(KernelContext& c) {
  const int64_t n = c.input(0).shape().dim_from_end(1);
  if (c.output(0).num_elements() == 0) return ok_status();
  each_matrix(c, num_matrices(c.input(0).shape()), n * n * n / 6, [&](int64_t at) {
    T* out = c.out<T>(0) + at * n * n;
    std::copy_n(c.in<T>(0) + at * n * n, n * n, out);
    dense::factor_cholesky(out, n);
    return true;
  });
  return ok_status();
}

Status lu_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, square_input(c, 0));
  c.set_output(0, s);
  ASSIGN_OR_RETURN(const Shape rows, subshape(s, 0, -1));
  c.set_output(1, rows);
  return ok_status();
}

/// P input = L U: L without its ones and U in one matrix, and for each of their rows which one of the input's it is.
template <class T>
Status lu_cpu(KernelContext& c) {
  const int64_t n = c.input(0).shape().dim_from_end(1);
  if (c.output(0).num_elements() == 0) return ok_status();
  const bool good = each_matrix(c, num_matrices(c.input(0).shape()), n * n * n / 3, [&](int64_t at) {
    T* lu = c.out<T>(0) + at * n * n;
    ScratchVector<int64_t> rows(static_cast<size_t>(n));
    std::copy_n(c.in<T>(0) + at * n * n, n * n, lu);
    dense::factor_lu(lu, n, rows.data());
    with_index(c.output(1).dtype(), [&]<class Index>(Index) {
      for (int64_t i = 0; i < n; ++i) c.out<Index>(1)[at * n + i] = static_cast<Index>(rows[static_cast<size_t>(i)]);
    });
    return dense::has_full_diagonal(lu, n);
  });
  return good ? ok_status() : invalid_argument("Input is not invertible.");
}

/// x = P^-1 .. of a factored matrix: rows[i] of b becomes row i, then both triangles.
template <class T>
void solve_lu(const ScratchVector<T>& lu, const ScratchVector<int64_t>& rows, const T* b, T* x, int64_t columns) {
  const auto n = static_cast<int64_t>(rows.size());
  for (int64_t i = 0; i < n; ++i) std::copy_n(b + rows[static_cast<size_t>(i)] * columns, columns, x + i * columns);
  dense::solve_triangle(lu.data(), n, x, columns, Triangle{.lower = true, .unit = true});
  dense::solve_triangle(lu.data(), n, x, columns, Triangle{.lower = false});
}

template <class T>
class MatrixInverse final : public Kernel {
 public:
  explicit MatrixInverse(const KernelInit& init) : adjoint_(init.attrs.flag("adjoint")) {}

  Status run(KernelContext& c) override {
    const int64_t n = c.input(0).shape().dim_from_end(1);
    if (c.output(0).num_elements() == 0) return ok_status();
    const bool good = each_matrix(c, num_matrices(c.input(0).shape()), n * n * n, [&](int64_t at) {
      ScratchVector<Work<T>> lu = copied(c.in<T>(0) + at * n * n, n * n), one(lu.size()), x(lu.size());
      ScratchVector<int64_t> rows(static_cast<size_t>(n));
      if (adjoint_) dense::adjoin(lu.data(), n);
      dense::factor_lu(lu.data(), n, rows.data());
      if (!dense::has_full_diagonal(lu.data(), n)) return false;
      for (int64_t i = 0; i < n; ++i) one[static_cast<size_t>(i * n + i)] = Work<T>(1);
      solve_lu(lu, rows, one.data(), x.data(), n);
      for (int64_t i = 0; i < n * n; ++i) c.out<T>(0)[at * n * n + i] = static_cast<T>(x[static_cast<size_t>(i)]);
      return true;
    });
    return good ? ok_status() : invalid_argument("Input is not invertible.");
  }

 private:
  const bool adjoint_;
};

template <class T>
class MatrixSolve final : public Kernel {
 public:
  explicit MatrixSolve(const KernelInit& init) : adjoint_(init.attrs.flag("adjoint")) {}

  Status run(KernelContext& c) override {
    const int64_t n = c.input(0).shape().dim_from_end(1), columns = c.input(1).shape().dim_from_end(1);
    if (c.output(0).num_elements() == 0) return ok_status();
    const bool good = each_matrix(c, num_matrices(c.input(0).shape()), n * n * (n / 3 + columns), [&](int64_t at) {
      ScratchVector<T> lu = copied(c.in<T>(0) + at * n * n, n * n);
      ScratchVector<int64_t> rows(static_cast<size_t>(n));
      if (adjoint_) dense::adjoin(lu.data(), n);
      dense::factor_lu(lu.data(), n, rows.data());
      if (!dense::has_full_diagonal(lu.data(), n)) return false;
      solve_lu(lu, rows, c.in<T>(1) + at * n * columns, c.out<T>(0) + at * n * columns, columns);
      return true;
    });
    return good ? ok_status() : invalid_argument("Input matrix is not invertible.");
  }

 private:
  const bool adjoint_;
};

/// Which matrix of an input whose batch dimensions are spread over those of the output.
int64_t spread_matrix(int64_t at, const Shape& out, const Shape& in) {
  int64_t number = 0, stride = 1;
  for (int d = 3; d <= out.rank(); ++d) {
    const int64_t place = at % out.dim_from_end(d);
    at /= out.dim_from_end(d);
    if (d > in.rank()) continue;
    if (in.dim_from_end(d) != 1) number += place * stride;
    stride *= in.dim_from_end(d);
  }
  return number;
}

template <class T>
class MatrixTriangularSolve final : public Kernel {
 public:
  explicit MatrixTriangularSolve(const KernelInit& init)
      : triangle_{init.attrs.flag("lower"), false, init.attrs.flag("adjoint")} {}

  Status run(KernelContext& c) override {
    const Shape &a = c.input(0).shape(), &b = c.input(1).shape(), &out = c.output(0).shape();
    const int64_t n = a.dim_from_end(1), columns = b.dim_from_end(1);
    if (c.output(0).num_elements() == 0) return ok_status();
    each_matrix(c, num_matrices(out), n * n * columns / 2, [&](int64_t at) {
      const T* matrix = c.in<T>(0) + spread_matrix(at, out, a) * n * n;
      T* x = c.out<T>(0) + at * n * columns;
      std::copy_n(c.in<T>(1) + spread_matrix(at, out, b) * n * columns, n * columns, x);
      dense::solve_triangle(matrix, n, x, columns, triangle_);
      return true;
    });
    return ok_status();
  }

 private:
  const Triangle triangle_;
};

/// Calls f(number, factored matrix, its row exchanges) for each.
template <class T, class F>
void each_factored(KernelContext& c, const F& f) {
  const int64_t n = c.input(0).shape().dim_from_end(1);
  each_matrix(c, num_matrices(c.input(0).shape()), n * n * n / 3, [&](int64_t at) {
    ScratchVector<T> lu = copied(c.in<T>(0) + at * n * n, n * n);
    ScratchVector<int64_t> rows(static_cast<size_t>(n));
    f(at, n, lu, dense::factor_lu(lu.data(), n, rows.data()));
    return true;
  });
}

template <class T>
Status determinant_cpu(KernelContext& c) {
  each_factored<T>(c, [&](int64_t at, int64_t n, const ScratchVector<T>& lu, int64_t exchanges) {
    T product = exchanges % 2 == 0 ? T(1) : T(-1);
    for (int64_t i = 0; i < n; ++i) product *= lu[static_cast<size_t>(i * n + i)];
    c.out<T>(0)[at] = product;
  });
  return ok_status();
}

template <class T>
Status log_determinant_cpu(KernelContext& c) {
  each_factored<T>(c, [&](int64_t at, int64_t n, const ScratchVector<T>& lu, int64_t exchanges) {
    T sign = exchanges % 2 == 0 ? T(1) : T(-1);
    Real<T> log = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T pivot = lu[static_cast<size_t>(i * n + i)];
      const Real<T> size = std::abs(pivot);
      sign = size > 0 ? sign * (pivot / size) : T(0);
      log += std::log(size);
    }
    c.out<T>(0)[at] = sign;
    c.out<T>(1)[at] = T(log);
  });
  return ok_status();
}

// --- gradients: TensorFlow's, python/ops/linalg_grad.py

Value matmul_of(GradientContext& g, Value a, Value b, bool adjoint_a, bool adjoint_b) {
  if (g.shape(a).rank_known() && g.shape(a).rank() == 2 && g.type(a) != DType::kComplex64 &&
      g.type(a) != DType::kComplex128)
    return g.add("MatMul", {a, b},
                 {{"transpose_a", AttrValue::of(adjoint_a)}, {"transpose_b", AttrValue::of(adjoint_b)}});
  return g.add("BatchMatMulV2", {a, b}, {{"adj_x", AttrValue::of(adjoint_a)}, {"adj_y", AttrValue::of(adjoint_b)}},
               "MatMul");
}

Value band_of(GradientContext& g, Value x, int64_t below, int64_t above) {
  return g.add("MatrixBandPart",
               {x, g.index(below, "num_lower", DType::kInt64), g.index(above, "num_upper", DType::kInt64)});
}

Status inverse_gradient(GradientContext& g) {
  const bool adjoint = g.attrs().flag("adjoint");
  const Value inverse = g.output(0);
  g.set(0, g.neg(matmul_of(g, inverse, matmul_of(g, g.grad(0), inverse, adjoint, !adjoint), !adjoint, false)));
  return g.status();
}

/// The gradient of the determinant's logarithm, times `factor` for each matrix.
void set_determinant_gradient(GradientContext& g, Value factor) {
  Value inverse = g.add("MatrixInverse", {g.input(0)}, {{"adjoint", AttrValue::of(true)}});
  Value shape = g.concat({g.shape_of(g.output(0)), g.ints({1, 1}, "concat/values_1")});
  g.set(0, g.mul(g.reshape(factor, shape), inverse));
}

Status determinant_gradient(GradientContext& g) {
  set_determinant_gradient(g, g.mul(g.grad(0), g.output(0)));
  return g.status();
}

Status log_determinant_gradient(GradientContext& g) {
  set_determinant_gradient(g, g.grad(1));
  return g.status();
}

// l^-H ((l^H dl) * (tril(1) - 1/2)) l^-1, and that it is Hermitian.
Status cholesky_gradient(GradientContext& g) {
  const Value l = g.output(0);
  Value inverse =
      g.add("MatrixTriangularSolve",
            {l, band_of(g, g.add("MatrixDiag", {g.add("OnesLike", {g.add("MatrixDiagPart", {l})})}), 0, 0)});
  Value middle = matmul_of(g, l, g.grad(0), true, false);
  Value half = g.scalar(g.type(l), 0.5, "mul/x");
  middle = g.add("MatrixSetDiag", {middle, g.mul(half, g.add("MatrixDiagPart", {middle}))});
  middle = band_of(g, middle, -1, 0);
  Value da = matmul_of(g, matmul_of(g, inverse, middle, true, false), inverse, false, false);
  // The product with one, its conjugate transpose taken, is the conjugate transpose.
  Value one = g.add("MatrixDiag", {g.add("OnesLike", {g.add("MatrixDiagPart", {l})})});
  da = g.add("AddV2", {da, matmul_of(g, da, one, true, false)}, {}, "add");
  g.set(0, g.mul(da, g.scalar(g.type(l), 0.5, "mul_1/y")));
  return g.status();
}

/// da from db: the product of both with x, in the order that `adjoint` asks for.
Value gradient_of_matrix(GradientContext& g, Value db, bool adjoint) {
  const Value x = g.output(0);
  return g.neg(adjoint ? matmul_of(g, x, db, false, true) : matmul_of(g, db, x, false, true));
}

Status solve_gradient(GradientContext& g) {
  const bool adjoint = g.attrs().flag("adjoint");
  Value db = g.add("MatrixSolve", {g.input(0), g.grad(0)}, {{"adjoint", AttrValue::of(!adjoint)}});
  g.set(0, gradient_of_matrix(g, db, adjoint));
  g.set(1, db);
  return g.status();
}

Status triangular_solve_gradient(GradientContext& g) {
  const bool adjoint = g.attrs().flag("adjoint"), lower = g.attrs().flag("lower");
  const Value a = g.input(0), b = g.input(1);
  Value db = g.add("MatrixTriangularSolve", {a, g.grad(0)},
                   {{"lower", AttrValue::of(lower)}, {"adjoint", AttrValue::of(!adjoint)}});
  Value da = gradient_of_matrix(g, db, adjoint);
  da = lower ? band_of(g, da, -1, 0) : band_of(g, da, 0, -1);
  Value a_shape = g.shape_of(a), b_shape = g.shape_of(b);
  Value axes = g.add("BroadcastGradientArgs", {g.slice(a_shape, 0, -2), g.slice(b_shape, 0, -2)});
  g.set(0, g.reshape(g.sum(da, axes), a_shape));
  g.set(1, g.reshape(g.sum(db, axes.output(1)), b_shape));
  return g.status();
}

}  // namespace

OpDef cholesky_op() {
  return OpDef("Cholesky")
      .doc("The lower triangular matrix L with L L^H = input, of which the lower half is read.")
      .shape(square_shape)
      .cpu<float>(stateless<cholesky_cpu<float>>)
      .cpu<double>(stateless<cholesky_cpu<double>>)
      .cpu<complex64>(stateless<cholesky_cpu<complex64>>)
      .cpu<complex128>(stateless<cholesky_cpu<complex128>>)
      .gradient(cholesky_gradient);
}

OpDef lu_op() {
  return OpDef("Lu")
      .doc("The triangles L and U of each matrix whose rows change places, and where each row came from.")
      .shape(lu_shape)
      .cpu<float>(stateless<lu_cpu<float>>)
      .cpu<double>(stateless<lu_cpu<double>>)
      .cpu<complex64>(stateless<lu_cpu<complex64>>)
      .cpu<complex128>(stateless<lu_cpu<complex128>>);
}

OpDef matrix_inverse_op() {
  return OpDef("MatrixInverse")
      .doc("The inverse of each matrix, or of its conjugate transpose.")
      .shape(square_shape)
      .cpu<half>(make<MatrixInverse<half>>)
      .cpu<float>(make<MatrixInverse<float>>)
      .cpu<double>(make<MatrixInverse<double>>)
      .cpu<complex64>(make<MatrixInverse<complex64>>)
      .cpu<complex128>(make<MatrixInverse<complex128>>)
      .gradient(inverse_gradient);
}

OpDef matrix_determinant_op() {
  return OpDef("MatrixDeterminant")
      .doc("The determinant of each matrix.")
      .shape(determinant_shape)
      .cpu<float>(stateless<determinant_cpu<float>>)
      .cpu<double>(stateless<determinant_cpu<double>>)
      .cpu<complex64>(stateless<determinant_cpu<complex64>>)
      .cpu<complex128>(stateless<determinant_cpu<complex128>>)
      .gradient(determinant_gradient);
}

OpDef log_matrix_determinant_op() {
  return OpDef("LogMatrixDeterminant")
      .doc("The determinant of each matrix as its sign and the logarithm of its absolute value.")
      .shape(determinant_shape)
      .cpu<float>(stateless<log_determinant_cpu<float>>)
      .cpu<double>(stateless<log_determinant_cpu<double>>)
      .cpu<complex64>(stateless<log_determinant_cpu<complex64>>)
      .cpu<complex128>(stateless<log_determinant_cpu<complex128>>)
      .gradient(log_determinant_gradient);
}

OpDef matrix_solve_op() {
  return OpDef("MatrixSolve")
      .doc("x with matrix x = rhs, or with its conjugate transpose.")
      .shape(solve_shape)
      .cpu<float>(make<MatrixSolve<float>>)
      .cpu<double>(make<MatrixSolve<double>>)
      .cpu<complex64>(make<MatrixSolve<complex64>>)
      .cpu<complex128>(make<MatrixSolve<complex128>>)
      .gradient(solve_gradient);
}

OpDef matrix_triangular_solve_op() {
  return OpDef("MatrixTriangularSolve")
      .doc("x with matrix x = rhs for a triangular matrix, of which only that half is read; batches are broadcast.")
      .shape(triangular_solve_shape)
      .cpu<float>(make<MatrixTriangularSolve<float>>)
      .cpu<double>(make<MatrixTriangularSolve<double>>)
      .cpu<complex64>(make<MatrixTriangularSolve<complex64>>)
      .cpu<complex128>(make<MatrixTriangularSolve<complex128>>)
      .gradient(triangular_solve_gradient);
}

}  // namespace emplace
