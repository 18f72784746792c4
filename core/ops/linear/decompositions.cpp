// Qr, Svd and SelfAdjointEigV2: the innermost matrices, each by itself.
#include "core/ops/linear/decompositions.h"

#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/linear/decomposition_gradients.h"

namespace emplace {
namespace {

using dense::Matrix;
using dense::num_matrices;
using dense::Wide;

/// The batch dimensions and the sizes of a matrix.
struct MatrixShape {
  Shape batch;
  int64_t rows = -1, columns = -1, smaller = -1;

  static Result<MatrixShape> of(const ShapeContext& c) {
    MatrixShape m;
    ASSIGN_OR_RETURN(const Shape s, c.with_rank_at_least(0, 2));
    ASSIGN_OR_RETURN(m.batch, subshape(s, 0, -2));
    m.rows = dim_or_unknown(s, -2), m.columns = dim_or_unknown(s, -1);
    if (m.rows == 0 || m.columns == 0) m.smaller = 0;
    if (m.rows >= 0 && m.columns >= 0) m.smaller = std::min(m.rows, m.columns);
    return m;
  }
  Shape of_sizes(int64_t a, int64_t b) const { return concat_shapes(batch, Shape{a, b}); }
};

Status qr_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const MatrixShape m, MatrixShape::of(c));
  if (!m.batch.rank_known()) return ok_status();
  const bool full = c.attrs().flag("full_matrices");
  c.set_output(0, m.of_sizes(m.rows, full ? m.rows : m.smaller));
  c.set_output(1, m.of_sizes(full ? m.rows : m.smaller, m.columns));
  return ok_status();
}

Status svd_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const MatrixShape m, MatrixShape::of(c));
  const bool full = c.attrs().flag("full_matrices"), vectors = c.attrs().flag("compute_uv");
  if (!vectors) c.set_output(1, Shape{0}), c.set_output(2, Shape{0});
  if (!m.batch.rank_known()) return ok_status();
  c.set_output(0, concat_shapes(m.batch, Shape{m.smaller}));
  if (!vectors) return ok_status();
  c.set_output(1, m.of_sizes(m.rows, full ? m.rows : m.smaller));
  c.set_output(2, m.of_sizes(m.columns, full ? m.columns : m.smaller));
  return ok_status();
}

Status eigen_shape(ShapeContext& c) {
  const bool vectors = c.attrs().flag("compute_v");
  if (!vectors) c.set_output(1, Shape{0});
  ASSIGN_OR_RETURN(const MatrixShape m, MatrixShape::of(c));
  ASSIGN_OR_RETURN(const int64_t n, ShapeContext::merge_dim(m.rows, m.columns));
  if (!m.batch.rank_known()) return ok_status();
  c.set_output(0, concat_shapes(m.batch, Shape{n}));
  if (vectors) c.set_output(1, m.of_sizes(n, n));
  return ok_status();
}

template <class T>
Matrix<Wide<T>> widened(const T* from, int64_t n) {
  Matrix<Wide<T>> to(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kIsHalf<T>)
      to[static_cast<size_t>(i)] = static_cast<float>(from[i]);
    else
      to[static_cast<size_t>(i)] = Wide<T>(from[i]);
  }
  return to;
}

template <class T>
T narrowed(Wide<T> x) {
  if constexpr (kIsHalf<T>)
    return static_cast<T>(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

/// The first rows x columns elements of a matrix whose rows are `stride` long.
template <class T>
void put(const Matrix<Wide<T>>& from, int64_t stride, int64_t rows, int64_t columns, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = narrowed<T>(from[static_cast<size_t>(i * stride + j)]);
  }
}

template <class T>
Status qr_cpu(KernelContext& c) {
  const Shape& s = c.input(0).shape();
  const int64_t m = s.dim_from_end(2), n = s.dim_from_end(1), kept = c.output(0).shape().dim_from_end(1);
  c.parallel_for(num_matrices(s), 4.0 * static_cast<double>(m * m * n) + 10, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      Matrix<Wide<T>> r = widened(c.in<T>(0) + at * m * n, m * n), q = dense::identity<Wide<T>>(m);
      dense::reflect(r, q, m, n);
      for (int64_t i = 0; i < m; ++i) std::fill_n(r.begin() + i * n, std::min(i, n), Wide<T>(0));
      put(q, m, m, kept, c.out<T>(0) + at * m * kept);
      put(r, n, kept, n, c.out<T>(1) + at * kept * n);
    }
  });
  return ok_status();
}

/// The numbers of values in ascending order, NaN last, equal ones as they come; std::stable_sort() would ask for heap
/// memory.
ScratchVector<int64_t> order_of(const ScratchVector<double>& values) {
  ScratchVector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const double a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
    if (a < b || b < a) return a < b;
    const bool a_is_none = a != a, b_is_none = b != b;
    return a_is_none != b_is_none ? b_is_none : i < j;
  });
  return order;
}

template <class T>
class SelfAdjointEig final : public Kernel {
 public:
  explicit SelfAdjointEig(const KernelInit& init) : vectors_(init.attrs.flag("compute_v")) {}

  Status run(KernelContext& c) override {
    const int64_t n = c.input(0).shape().dim_from_end(1);
    if (n == 0) return ok_status();
    const double terms = 40.0 * static_cast<double>(n * n * n);
    c.parallel_for(num_matrices(c.input(0).shape()), terms, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) solve(c, at, n);
    });
    return ok_status();
  }

 private:
  void solve(KernelContext& c, int64_t at, int64_t n) const {
    using W = Wide<T>;
    Matrix<W> a = widened(c.in<T>(0) + at * n * n, n * n), v;
    if (vectors_) v = dense::identity<W>(n);
    for (int64_t i = 0; i < n; ++i) {  // the lower half is what counts
      a[static_cast<size_t>(i * n + i)] = W(std::real(a[static_cast<size_t>(i * n + i)]));
      for (int64_t j = 0; j < i; ++j)
        a[static_cast<size_t>(j * n + i)] = dense::conjugate(a[static_cast<size_t>(i * n + j)]);
    }
    dense::rotate_eigen(a, v, n);
    ScratchVector<double> values(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = std::real(a[static_cast<size_t>(i * n + i)]);
    const ScratchVector<int64_t> order = order_of(values);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t from = order[static_cast<size_t>(j)];
      c.out<T>(0)[at * n + j] = static_cast<T>(W(values[static_cast<size_t>(from)]));
      if (!vectors_) continue;
      for (int64_t i = 0; i < n; ++i)
        c.out<T>(1)[(at * n + i) * n + j] = static_cast<T>(v[static_cast<size_t>(i * n + from)]);
    }
  }

  const bool vectors_;
};

// TensorFlow's, python/ops/linalg_grad.py: v (diag(de) + f * (v^H dv)) v^H for f = 1 / (e_j - e_i), of which the lower
// half counts.
Status eigen_gradient(GradientContext& g) {
  const bool vectors = g.attrs().flag("compute_v");
  Value e = g.output(0), v = g.output(1);
  if (!vectors) v = g.add("SelfAdjointEigV2", {g.input(0)}, {{"compute_v", AttrValue::of(true)}}).output(1);
  Value inner = g.add("MatrixDiag", {g.grad(0)});
  if (vectors) {
    Value apart = g.add("Sub", {g.expand_dims(e, -2), g.expand_dims(e, -1)}, {}, "sub");
    Value broad = g.add("AddV2", {g.mul(apart, apart), g.scalar(g.type(e), 1e-20)}, {}, "add");
    Value f = g.mul(apart, g.add("Reciprocal", {broad}));
    f = g.add("MatrixSetDiag", {f, g.zeros_like(e)});
    inner = g.add("AddV2", {inner, g.mul(f, product_of(g, v, g.grad(1), true, false))}, {}, "add");
  }
  Value da = product_of(g, v, product_of(g, inner, v, false, true), false, false);
  // da + da^H: the product of da^H and one.
  Value one = g.add("MatrixDiag", {g.add("OnesLike", {e})});
  da = g.add("AddV2", {da, product_of(g, da, one, true, false)}, {}, "add");
  da = g.add("MatrixBandPart", {da, g.index(-1, "num_lower", DType::kInt64), g.index(0, "num_upper", DType::kInt64)});
  Value diagonal = g.mul(g.scalar(g.type(e), 0.5), g.add("MatrixDiagPart", {da}));
  g.set(0, g.add("MatrixSetDiag", {da, diagonal}));
  return g.status();
}

template <class T>
class Svd final : public Kernel {
 public:
  explicit Svd(const KernelInit& init)
      : vectors_(init.attrs.flag("compute_uv")), full_(init.attrs.flag("full_matrices")) {}

  Status run(KernelContext& c) override {
    const Shape& s = c.input(0).shape();
    const int64_t m = s.dim_from_end(2), n = s.dim_from_end(1);
    const double terms = 40.0 * static_cast<double>(m * n * std::min(m, n)) + 10;
    c.parallel_for(num_matrices(s), terms, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) solve(c, at, m, n);
    });
    return ok_status();
  }

 private:
  using W = Wide<T>;

  void solve(KernelContext& c, int64_t at, int64_t m, int64_t n) const {
    const bool wide = m < n;
    const int64_t tall = std::max(m, n), p = std::min(m, n);
    Matrix<W> a = widened(c.in<T>(0) + at * m * n, m * n);
    if (wide) {  // its conjugate transpose: u and v change places
      Matrix<W> turned(a.size());
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j)
          turned[static_cast<size_t>(j * m + i)] = dense::conjugate(a[static_cast<size_t>(i * n + j)]);
      }
      a.swap(turned);
    }
    Matrix<W> v = dense::identity<W>(p);
    dense::rotate_columns(a, v, tall, p);
    ScratchVector<double> sizes(static_cast<size_t>(p)), descending(sizes.size());
    for (int64_t j = 0; j < p; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < tall; ++i) sum += std::norm(a[static_cast<size_t>(i * p + j)]);
      sizes[static_cast<size_t>(j)] = std::sqrt(sum);
      descending[static_cast<size_t>(j)] = -sizes[static_cast<size_t>(j)];
    }
    const ScratchVector<int64_t> order = order_of(descending);
    for (int64_t j = 0; j < p; ++j)
      c.out<T>(0)[at * p + j] = static_cast<T>(W(sizes[static_cast<size_t>(order[static_cast<size_t>(j)])]));
    if (!vectors_) return;
    put_basis(c.out<T>(wide ? 2 : 1), at, a, sizes, order, tall, full_ ? tall : p);
    const ScratchVector<double> ones(static_cast<size_t>(p), 1.0);
    put_basis(c.out<T>(wide ? 1 : 2), at, v, ones, order, p, p);
  }

  /// The columns in their order, each divided by its size, and as many more as are asked for.
  static void put_basis(T* out, int64_t at, const Matrix<W>& from, const ScratchVector<double>& sizes,
                        const ScratchVector<int64_t>& order, int64_t rows, int64_t columns) {
    const auto p = static_cast<int64_t>(order.size());
    Matrix<W> basis(static_cast<size_t>(rows * columns));
    int64_t have = 0;
    for (; have < p; ++have) {
      const auto column = order[static_cast<size_t>(have)];
      const double size = sizes[static_cast<size_t>(column)];
      if (!(size > 0)) break;  // and all behind it
      for (int64_t i = 0; i < rows; ++i)
        basis[static_cast<size_t>(i * columns + have)] = from[static_cast<size_t>(i * p + column)] / size;
    }
    dense::complete_basis(basis, rows, columns, have);
    put(basis, columns, rows, columns, out + at * rows * columns);
  }

  const bool vectors_, full_;
};

}  // namespace

OpDef qr_op() {
  return OpDef("Qr")
      .doc("q with orthonormal columns and r, zero below its diagonal, with q r = input.")
      .shape(qr_shape)
      .cpu<half>(stateless<qr_cpu<half>>)
      .cpu<float>(stateless<qr_cpu<float>>)
      .cpu<double>(stateless<qr_cpu<double>>)
      .cpu<complex64>(stateless<qr_cpu<complex64>>)
      .cpu<complex128>(stateless<qr_cpu<complex128>>)
      .gradient(qr_gradient);
}

OpDef svd_op() {
  return OpDef("Svd")
      .doc("The singular values of each matrix, the largest first, and u and v with u diag(s) v^H = input.")
      .shape(svd_shape)
      .cpu<float>(make<Svd<float>>)
      .cpu<double>(make<Svd<double>>)
      .cpu<complex64>(make<Svd<complex64>>)
      .cpu<complex128>(make<Svd<complex128>>)
      .gradient(svd_gradient);
}

OpDef self_adjoint_eig_v2_op() {
  return OpDef("SelfAdjointEigV2")
      .doc("The eigenvalues of each Hermitian matrix, the smallest first, and eigenvectors as columns of v.")
      .shape(eigen_shape)
      .cpu<float>(make<SelfAdjointEig<float>>)
      .cpu<double>(make<SelfAdjointEig<double>>)
      .cpu<complex64>(make<SelfAdjointEig<complex64>>)
      .cpu<complex128>(make<SelfAdjointEig<complex128>>)
      .gradient(eigen_gradient)
      .sample("input=f64[3,3] uniform(-2,2)");
}

}  // namespace emplace
