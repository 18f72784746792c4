// TridiagonalSolve, TridiagonalMatMul: matrices of which only three diagonals are there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/linear/dense_solver.h"

namespace emplace {
namespace {

Status tridiagonal_solve_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape diagonals, c.with_rank_at_least(0, 2));
  ASSIGN_OR_RETURN(const Shape rhs, c.with_rank_at_least(1, 2));
  ASSIGN_OR_RETURN(const Shape left, subshape(diagonals, 0, -2));
  ASSIGN_OR_RETURN(const Shape right, subshape(rhs, 0, -2));
  RETURN_IF_ERROR(ShapeContext::merge(left, right).take_status());
  RETURN_IF_ERROR(require_dim(dim_or_unknown(diagonals, -2), 3).take_status());
  RETURN_IF_ERROR(ShapeContext::merge_dim(dim_or_unknown(diagonals, -1), dim_or_unknown(rhs, -2)).take_status());
  c.set_output(0, rhs);
  return ok_status();
}

/// One system: diagonals above, on and below the main one, each of n; x begins as the right hand side.
template <class T>
struct System {
  const T *above, *main, *below;
  T* x;
  int64_t n, columns;

  /// row a of x -= factor * row b.
  void subtract_row(int64_t a, T factor, int64_t b) const {
    for (int64_t j = 0; j < columns; ++j) x[a * columns + j] -= factor * x[b * columns + j];
  }
  void swap_rows(int64_t a, int64_t b) const {
    std::swap_ranges(x + a * columns, x + (a + 1) * columns, x + b * columns);
  }
  void divide_row(int64_t a, T by) const {
    for (int64_t j = 0; j < columns; ++j) x[a * columns + j] /= by;
  }
};

/// Gauss' elimination, the larger of two rows first. `nudge`: a pivot that is zero counts as very little. False: there
/// is no solution.
template <class T>
bool solve_with_pivots(const System<T>& s, bool nudge) {
  const int64_t n = s.n;
  ScratchVector<T> u(static_cast<size_t>(3 * n));  // the upper triangle: the diagonal and two beside it
  const auto at = [&](int64_t i, int64_t k) -> T& { return u[static_cast<size_t>(3 * i + k)]; };
  dense::Real<T> norm = 0;
  for (int64_t i = 0; nudge && i < n; ++i) {
    norm = std::max(norm, std::abs(s.main[i]));
    if (i + 1 < n) norm = std::max({norm, std::abs(s.above[i]), std::abs(s.below[i + 1])});
  }
  using Limits = std::numeric_limits<dense::Real<T>>;
  const T little(norm == 0 ? Limits::min() : Limits::epsilon() * norm);
  const auto usable = [&](T& pivot) {
    if (pivot == T(0) && nudge) pivot = little;
    return pivot != T(0);
  };
  at(0, 0) = s.main[0];
  if (n > 1) at(0, 1) = s.above[0];
  for (int64_t i = 0; i + 1 < n; ++i) {
    const bool inner = i + 2 < n;
    if (std::abs(at(i, 0)) >= std::abs(s.below[i + 1])) {
      if (!usable(at(i, 0))) return false;
      const T factor = s.below[i + 1] / at(i, 0);
      at(i + 1, 0) = s.main[i + 1] - factor * at(i, 1);
      s.subtract_row(i + 1, factor, i);
      if (inner) at(i + 1, 1) = s.above[i + 1];
    } else {
      const T factor = at(i, 0) / s.below[i + 1], beside = at(i, 1);
      at(i, 0) = s.below[i + 1];
      at(i + 1, 0) = beside - factor * s.main[i + 1];
      at(i, 1) = s.main[i + 1];
      s.swap_rows(i, i + 1);
      s.subtract_row(i + 1, factor, i);
      if (inner) at(i, 2) = s.above[i + 1], at(i + 1, 1) = -factor * s.above[i + 1];
    }
  }
  if (!usable(at(n - 1, 0))) return false;
  for (int64_t i = n - 1; i >= 0; --i) {
    if (i + 1 < n) s.subtract_row(i, at(i, 1), i + 1);
    if (i + 2 < n) s.subtract_row(i, at(i, 2), i + 2);
    s.divide_row(i, at(i, 0));
  }
  return true;
}

/// Thomas' algorithm, which takes rows as they come. False: a pivot is zero.
template <class T>
bool solve_as_it_comes(const System<T>& s) {
  ScratchVector<T> beside(static_cast<size_t>(s.n));
  for (int64_t i = 0; i < s.n; ++i) {
    T pivot = s.main[i];
    if (i > 0) {
      pivot -= s.below[i] * beside[static_cast<size_t>(i - 1)];
      s.subtract_row(i, s.below[i], i - 1);
    }
    if (pivot == T(0)) return false;
    if (i + 1 < s.n) beside[static_cast<size_t>(i)] = s.above[i] / pivot;
    s.divide_row(i, pivot);
  }
  for (int64_t i = s.n - 2; i >= 0; --i) s.subtract_row(i, beside[static_cast<size_t>(i)], i + 1);
  return true;
}

template <class T>
class TridiagonalSolve final : public Kernel {
 public:
  explicit TridiagonalSolve(const KernelInit& init)
      : pivots_(init.attrs.flag("partial_pivoting")), nudges_(init.attrs.flag("perturb_singular")) {}

  Status run(KernelContext& c) override {
    if (nudges_ && !pivots_)
      return invalid_argument("Setting perturb_singular requires also setting partial_pivoting.");
    const Shape& out = c.output(0).shape();
    const int64_t n = out.dim_from_end(2), columns = out.dim_from_end(1);
    std::copy_n(c.in<T>(1), out.num_elements(), c.out<T>(0));
    if (out.num_elements() == 0) return ok_status();
    for (int64_t number = 0; number < dense::num_matrices(out); ++number) {
      const T* above = c.in<T>(0) + number * 3 * n;
      const System<T> system{above, above + n, above + 2 * n, c.out<T>(0) + number * n * columns, n, columns};
      const bool solved = pivots_ ? solve_with_pivots(system, nudges_) : solve_as_it_comes(system);
      if (!solved) std::fill_n(system.x, n * columns, std::numeric_limits<T>::quiet_NaN());  // complex: 0, as there
    }
    return ok_status();
  }

 private:
  const bool pivots_, nudges_;
};

Status tridiagonal_product_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape rhs, c.with_rank_at_least(3, 2));
  ASSIGN_OR_RETURN(const Shape batch, subshape(rhs, 0, -2));
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(const Shape diagonal, c.with_rank_at_least(i, 2));
    ASSIGN_OR_RETURN(const Shape outer, subshape(diagonal, 0, -2));
    RETURN_IF_ERROR(ShapeContext::merge(batch, outer).take_status());
    RETURN_IF_ERROR(require_dim(dim_or_unknown(diagonal, -2), 1).take_status());
    RETURN_IF_ERROR(ShapeContext::merge_dim(dim_or_unknown(diagonal, -1), dim_or_unknown(rhs, -2)).take_status());
  }
  c.set_output(0, rhs);
  return ok_status();
}

template <class T>
Status tridiagonal_product_cpu(KernelContext& c) {
  const Shape& out = c.output(0).shape();
  if (out.num_elements() == 0) return ok_status();
  const int64_t n = out.dim_from_end(2), columns = out.dim_from_end(1);
  c.parallel_for(dense::num_matrices(out) * n, 3.0 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* x = c.in<T>(3) + row * columns;
      T* y = c.out<T>(0) + row * columns;
      const int64_t i = row % n;
      const T above = c.in<T>(0)[row], main = c.in<T>(1)[row], below = c.in<T>(2)[row];
      for (int64_t j = 0; j < columns; ++j) {
        T sum = main * x[j];
        if (i + 1 < n) sum += above * x[j + columns];
        if (i > 0) sum += below * x[j - columns];
        y[j] = sum;
      }
    }
  });
  return ok_status();
}

// --- gradients: TensorFlow's, python/ops/linalg_grad.py

/// Numbers [begin, end) of dimension `from_end`; negative ends count from its end, 0 as an end means all the rest.
Value cut(GradientContext& g, Value v, int from_end, int64_t begin, int64_t end) {
  const int rank = g.shape(v).rank();
  std::vector<int64_t> first(static_cast<size_t>(rank), 0), last(first), steps(static_cast<size_t>(rank), 1);
  const auto d = static_cast<size_t>(rank - from_end);
  first[d] = begin, last[d] = end;
  int64_t all = (int64_t{1} << rank) - 1;
  const int64_t begin_mask = all & ~(int64_t{1} << d), end_mask = end == 0 ? all : begin_mask;
  return g.add("StridedSlice", {v, g.ints(first), g.ints(last), g.ints(steps)},
               {{"begin_mask", AttrValue::of(begin_mask)}, {"end_mask", AttrValue::of(end_mask)}}, "strided_slice");
}

/// Zeros before and behind, along dimension `from_end`.
Value padded(GradientContext& g, Value v, int from_end, int64_t before, int64_t behind) {
  const int rank = g.shape(v).rank();
  const size_t at = 2 * static_cast<size_t>(rank - from_end);
  std::vector<int64_t> pads(2 * static_cast<size_t>(rank), 0);
  pads[at] = before;
  pads[at + 1] = behind;
  return g.add("Pad", {v, g.reshape(g.ints(pads), std::vector<int64_t>{rank, 2})});
}

/// Row i + 1 in the place of row i, and the other way round.
Value rows_up(GradientContext& g, Value v) { return padded(g, cut(g, v, 2, 1, 0), 2, 0, 1); }
Value rows_down(GradientContext& g, Value v) { return padded(g, cut(g, v, 2, 0, -1), 2, 1, 0); }

Value sum_of_columns(GradientContext& g, Value v) { return g.sum(v, g.ints({-1})); }

bool of_complex_numbers(DType t) { return t == DType::kComplex64 || t == DType::kComplex128; }
Value conjugated(GradientContext& g, Value v) { return of_complex_numbers(g.type(v)) ? g.add("Conj", {v}) : v; }

Status solve_gradient_of_three(GradientContext& g) {
  const Value diagonals = g.input(0), x = conjugated(g, g.output(0));
  if (!g.shape(diagonals).rank_known() || !g.shape(x).rank_known())
    return unimplemented("the gradient of TridiagonalSolve of unknown rank");
  const Value above = padded(g, cut(g, cut(g, diagonals, 2, 2, 0), 1, 1, 0), 1, 0, 1);
  const Value main = cut(g, diagonals, 2, 1, 2);
  const Value below = padded(g, cut(g, cut(g, diagonals, 2, 0, 1), 1, 0, -1), 1, 1, 0);
  const Value turned = g.add("ConcatV2", {above, main, below, g.index(-2)}, {}, "concat");
  const Value db =
      g.add("TridiagonalSolve", {turned, g.grad(0)}, g.copy_attrs({"partial_pivoting", "perturb_singular"}));
  const Value of_above = sum_of_columns(g, g.mul(db, rows_up(g, g.output(0))));
  const Value of_main = sum_of_columns(g, g.mul(db, g.output(0)));
  const Value of_below = sum_of_columns(g, g.mul(db, rows_down(g, g.output(0))));
  g.set(0, g.neg(g.pack({of_above, of_main, of_below}, -2)));
  g.set(1, db);
  return g.status();
}

Status product_gradient_of_three(GradientContext& g) {
  const Value dy = g.grad(0), rhs = conjugated(g, g.input(3));
  if (!g.shape(rhs).rank_known() || !g.shape(dy).rank_known())
    return unimplemented("the gradient of TridiagonalMatMul of unknown rank");
  const auto as_row = [&](Value v) { return g.expand_dims(sum_of_columns(g, v), -2); };
  g.set(0, as_row(g.mul(rows_up(g, rhs), dy)));
  g.set(1, as_row(g.mul(rhs, dy)));
  g.set(2, as_row(g.mul(rows_down(g, rhs), dy)));
  const auto times_dy = [&](int i) {  // the diagonal as a column beside dy
    const Value diagonal = conjugated(g, g.input(i));
    return g.mul(g.reshape(diagonal, g.concat({g.slice(g.shape_of(dy), 0, -1), g.ints({1})})), dy);
  };
  const Value sum = g.add("AddV2", {rows_down(g, times_dy(0)), times_dy(1)}, {}, "add");
  g.set(3, g.add("AddV2", {sum, rows_up(g, times_dy(2))}, {}, "add"));
  return g.status();
}

}  // namespace

OpDef tridiagonal_solve_op() {
  return OpDef("TridiagonalSolve")
      .doc("x of A x = rhs, where A has three diagonals: the rows of `diagonals`, above, on and below the main one.")
      .shape(tridiagonal_solve_shape)
      .cpu<float>(make<TridiagonalSolve<float>>)
      .cpu<double>(make<TridiagonalSolve<double>>)
      .cpu<complex64>(make<TridiagonalSolve<complex64>>)
      .cpu<complex128>(make<TridiagonalSolve<complex128>>)
      .gradient(solve_gradient_of_three);
}
OpDef tridiagonal_mat_mul_op() {
  return OpDef("TridiagonalMatMul")
      .doc("The product of a matrix of three diagonals with another matrix.")
      .shape(tridiagonal_product_shape)
      .cpu<float>(stateless<tridiagonal_product_cpu<float>>)
      .cpu<double>(stateless<tridiagonal_product_cpu<double>>)
      .cpu<complex64>(stateless<tridiagonal_product_cpu<complex64>>)
      .cpu<complex128>(stateless<tridiagonal_product_cpu<complex128>>)
      .gradient(product_gradient_of_three);
}

}  // namespace emplace
