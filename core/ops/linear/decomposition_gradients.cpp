#include "core/ops/linear/decomposition_gradients.h"

#include <numeric>

#include "core/base/cat.h"

namespace emplace {
namespace {

// Building blocks on stacks of matrices.
class Matrices {
 public:
  explicit Matrices(GradientContext& g) : g_(g) {}

  Value add(Value a, Value b) { return g_.add("AddV2", {a, b}, {}, "add"); }
  Value subtract(Value a, Value b) { return g_.add("Sub", {a, b}, {}, "sub"); }
  Value diagonal(Value v) { return g_.add("MatrixDiag", {v}); }
  Value transposed(Value a) {
    const int rank = g_.shape(a).rank();
    std::vector<int64_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return g_.add("ConjugateTranspose", {a, g_.ints(order, "perm")}, {}, "adjoint");
  }
  /// x times the adjoint of the inverse of r, upper triangular.
  Value solved(Value x, Value r) {
    return transposed(g_.add("MatrixTriangularSolve", {r, transposed(x)},
                             {{"lower", AttrValue::of(false)}, {"adjoint", AttrValue::of(false)}}));
  }
  /// `count` columns from `first` on; -1: all the rest.
  Value columns(Value a, int64_t first, int64_t count) {
    const auto rank = static_cast<size_t>(g_.shape(a).rank());
    std::vector<int64_t> begin(rank, 0), size(rank, -1);
    begin.back() = first;
    size.back() = count;
    return g_.add("Slice", {a, g_.ints(begin, "begin"), g_.ints(size, "size")});
  }
  /// 1 / x where x is not nearly 0, which becomes 0.
  Value safe_reciprocal(Value x) {
    return g_.mul(x, g_.add("Reciprocal", {add(g_.mul(x, x), g_.scalar(g_.type(x), 1e-20))}));
  }
  /// a minus its adjoint.
  Value skewed(Value a) { return subtract(a, transposed(a)); }
  bool complex(Value v) const { return g_.type(v) == DType::kComplex64 || g_.type(v) == DType::kComplex128; }

 private:
  GradientContext& g_;
};

Status needs_sizes(const GradientContext& g, std::string_view what) {
  return unimplemented(cat(what, " (", g.op(), ") has no gradient of matrices whose sizes are known in the run only"));
}

// Where there are no more columns than rows, or those of r beyond are another matter.
Value gradient_of_tall(GradientContext& g, Value q, Value r, Value dq, Value dr) {
  Matrices m(g);
  const Value qdq = product_of(g, q, dq, true), rdr = product_of(g, r, dr, false, true);
  Value lower = m.add(m.skewed(qdq), m.skewed(rdr));
  lower =
      g.add("MatrixBandPart", {lower, g.index(-1, "num_lower", DType::kInt64), g.index(0, "num_upper", DType::kInt64)});
  const Value a = product_of(g, q, m.add(dr, m.solved(lower, r)));
  const Value b = m.solved(m.subtract(dq, product_of(g, q, qdq)), r);
  const Value sum = m.add(a, b);
  if (!m.complex(q)) return sum;
  // The imaginary part of the diagonal, which the formula above counts twice.
  const Value both = m.subtract(rdr, m.transposed(qdq));
  const Value whole = g.add("MatrixDiagPart", {both}), real = g.cast(g.add("Real", {whole}), g.type(q));
  const Value correction = m.diagonal(m.subtract(whole, real));
  return m.add(sum, m.solved(product_of(g, q, m.transposed(correction)), r));
}

// u diag(s) v^H of a matrix with no more rows than columns, with what arrived at the three.
struct Singular {
  Value s, u, v, ds, du, dv;
  int64_t rows, columns;
  bool full;
};

Value gradient_of_wide(GradientContext& g, const Singular& in) {
  Matrices m(g);
  const Value squares = g.mul(in.s, in.s), sizes = m.diagonal(in.s);
  const Value apart = m.subtract(g.expand_dims(squares, -2), g.expand_dims(squares, -1));
  const Value f = g.add("MatrixSetDiag", {m.safe_reciprocal(apart), g.zeros_like(in.s)});
  const bool square = in.rows == in.columns;
  const Value v1 = square ? in.v : m.columns(in.v, 0, in.rows), dv1 = square ? in.dv : m.columns(in.dv, 0, in.rows);
  const Value vdv = product_of(g, v1, dv1, true);
  const Value fu = g.mul(f, product_of(g, in.u, in.du, true)), fv = g.mul(f, vdv);
  Value inner = m.add(m.diagonal(in.ds), product_of(g, m.add(fu, m.transposed(fu)), sizes));
  inner = m.add(inner, product_of(g, sizes, m.add(fv, m.transposed(fv))));
  Value da = product_of(g, in.u, product_of(g, inner, v1, false, true));
  const Value inverse = m.diagonal(m.safe_reciprocal(in.s));
  if (!square) {
    const Value turned = m.transposed(dv1);
    Value rest = m.subtract(turned, product_of(g, product_of(g, turned, v1), v1, false, true));
    if (in.full) {
      const Value v2 = m.columns(in.v, in.rows, in.columns - in.rows),
                  dv2 = m.columns(in.dv, in.rows, in.columns - in.rows);
      rest = m.subtract(rest, product_of(g, product_of(g, v1, dv2, true), v2, false, true));
    }
    da = m.add(da, product_of(g, product_of(g, in.u, inverse), rest));
  }
  if (!m.complex(in.u)) return da;
  const Value on_diagonal = m.diagonal(g.add("MatrixDiagPart", {vdv}));
  const Value turning = product_of(g, inverse, m.skewed(on_diagonal));
  const Value half = g.scalar(g.type(in.u), 0.5);
  return m.add(da, g.mul(half, product_of(g, in.u, product_of(g, turning, v1, false, true))));
}

}  // namespace

Value product_of(GradientContext& g, Value a, Value b, bool adjoint_a, bool adjoint_b) {
  return g.add("BatchMatMulV2", {a, b}, {{"adj_x", AttrValue::of(adjoint_a)}, {"adj_y", AttrValue::of(adjoint_b)}},
               "MatMul");
}

Status qr_gradient(GradientContext& g) {
  const Value q = g.output(0), r = g.output(1);
  const Shape in = g.shape(g.input(0)), of_q = g.shape(q);
  const bool known = in.rank_known() && in.dim_from_end(1) >= 0 && in.dim_from_end(2) >= 0 && of_q.rank_known();
  if (!known) return needs_sizes(g, "the decomposition");
  const int64_t rows = in.dim_from_end(2), columns = in.dim_from_end(1);
  if (rows > columns && of_q.dim_from_end(1) == rows)
    return unimplemented("Qr has no gradient of matrices with more rows than columns if full_matrices is true");
  const Value dq = g.grad(0), dr = g.grad(1);
  if (rows >= columns) {
    g.set(0, gradient_of_tall(g, q, r, dq, dr));
    return g.status();
  }
  Matrices m(g);
  const Value y = m.columns(g.input(0), rows, -1), u = m.columns(r, 0, rows), dv = m.columns(dr, rows, -1);
  const Value dx = gradient_of_tall(g, q, u, m.add(dq, product_of(g, y, dv, false, true)), m.columns(dr, 0, rows));
  g.set(0, g.add("ConcatV2", {dx, product_of(g, q, dv), g.index(in.rank() - 1, "axis")}, {}, "concat"));
  return g.status();
}

Status svd_gradient(GradientContext& g) {
  const Value a = g.input(0);
  Matrices m(g);
  Value ds = g.grad(0);
  if (m.complex(a)) ds = g.cast(ds, g.type(a));
  if (!g.attrs().flag("compute_uv")) {
    const Value parts = g.add("Svd", {a}, {{"compute_uv", AttrValue::of(true)}});
    g.set(0, product_of(g, parts.output(1), product_of(g, m.diagonal(ds), parts.output(2), false, true)));
    return g.status();
  }
  const Shape in = g.shape(a);
  if (!in.rank_known() || in.dim_from_end(1) < 0 || in.dim_from_end(2) < 0) return needs_sizes(g, "the decomposition");
  Singular given{g.output(0),
                 g.output(1),
                 g.output(2),
                 ds,
                 g.grad(1),
                 g.grad(2),
                 in.dim_from_end(2),
                 in.dim_from_end(1),
                 g.attrs().flag("full_matrices")};
  if (m.complex(a)) given.s = g.cast(given.s, g.type(a));
  const bool tall = given.rows > given.columns;
  if (tall) {  // the adjoint's
    std::swap(given.rows, given.columns);
    std::swap(given.u, given.v);
    std::swap(given.du, given.dv);
  }
  if (given.full && given.columns - given.rows > 1)
    return unimplemented("Svd has no gradient where sizes differ by more than 1 if full_matrices is true");
  const Value da = gradient_of_wide(g, given);
  g.set(0, tall ? m.transposed(da) : da);
  return g.status();
}

}  // namespace emplace
