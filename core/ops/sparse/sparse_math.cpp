// SparseTensorDenseMatMul, SparseAdd and SparseSoftmax.
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/linear/dense_solver.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

Status product_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 2).take_status());
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  ASSIGN_OR_RETURN(const Shape a, require_rank(c.input_as_shape(2), 2));
  ASSIGN_OR_RETURN(const Shape b, c.with_rank(3, 2));
  const bool adjoint_a = c.attrs().flag("adjoint_a"), adjoint_b = c.attrs().flag("adjoint_b");
  RETURN_IF_ERROR(ShapeContext::merge_dim(dim_or_unknown(a, adjoint_a ? 0 : 1), dim_or_unknown(b, adjoint_b ? 1 : 0))
                      .take_status());
  c.set_output(0, Shape{dim_or_unknown(a, adjoint_a ? 1 : 0), dim_or_unknown(b, adjoint_b ? 0 : 1)});
  return ok_status();
}

/// Of place `i`: row m, column k.
Status place_outside(int64_t i, int64_t m, int64_t k, int64_t rows, int64_t inner, bool adjoint) {
  if (k < 0 || k >= inner)
    return invalid_argument(cat("k (", k, ") from index[", i, ",", adjoint ? 0 : 1, "] out of bounds (>=", inner, ")"));
  return invalid_argument(cat("m (", m, ") from index[", i, ",", adjoint ? 1 : 0, "] out of bounds (>=", rows, ")"));
}

template <class T>
class SparseProduct final : public Kernel {
 public:
  explicit SparseProduct(const KernelInit& init)
      : adjoint_a_(init.attrs.flag("adjoint_a")), adjoint_b_(init.attrs.flag("adjoint_b")) {}

  Status run(KernelContext& c) override {
    const Shape &form = c.input(0).shape(), &b = c.input(3).shape();
    if (form.dim(1) != 2) return invalid_argument("Tensor 'a_indices' must have 2 columns");
    if (form.dim(0) != c.input(1).num_elements())
      return invalid_argument("Number of rows of a_indices does not match number of entries in a_values");
    const int64_t* sizes = c.in<int64_t>(2);
    const int64_t rows = sizes[adjoint_a_ ? 1 : 0], inner = sizes[adjoint_a_ ? 0 : 1];
    const int64_t columns = b.dim(adjoint_b_ ? 0 : 1);
    if (rows < 0 || inner != b.dim(adjoint_b_ ? 1 : 0))
      return invalid_argument(cat("Cannot multiply A and B because inner dimension does not match: ", inner, " vs. ",
                                  b.dim(adjoint_b_ ? 1 : 0)));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{rows, columns}));
    ASSIGN_OR_RETURN(Tensor sums, c.allocate_scratch(dtype_of<Summed<T>>, Shape{kIsHalf<T> ? rows * columns : 0}));
    Summed<T>* out = nullptr;
    if constexpr (kIsHalf<T>)
      out = sums.template data<Summed<T>>();
    else
      out = c.out<T>(0);
    std::fill_n(out, rows * columns, Summed<T>(0));
    RETURN_IF_ERROR(add_products(c, out, rows, inner, columns));
    if constexpr (kIsHalf<T>) {
      for (int64_t i = 0; i < rows * columns; ++i) c.out<T>(0)[i] = static_cast<T>(out[i]);
    }
    return ok_status();
  }

 private:
  Status add_products(KernelContext& c, Summed<T>* out, int64_t rows, int64_t inner, int64_t columns) const {
    const T *values = c.in<T>(1), *b = c.in<T>(3);
    const bool narrow = c.input(0).dtype() == DType::kInt32;
    const auto place = [&](int64_t at) { return narrow ? int64_t{c.in<int32_t>(0)[at]} : c.in<int64_t>(0)[at]; };
    for (int64_t i = 0; i < c.input(1).num_elements(); ++i) {
      const int64_t m = place(2 * i + (adjoint_a_ ? 1 : 0)), k = place(2 * i + (adjoint_a_ ? 0 : 1));
      RETURN_IF_ERROR(check_place(i, m, k, rows, inner));
      auto factor = static_cast<Summed<T>>(values[i]);
      if (adjoint_a_) factor = dense::conjugate(factor);
      Summed<T>* row = out + m * columns;
      for (int64_t j = 0; j < columns; ++j) {
        const auto x = static_cast<Summed<T>>(adjoint_b_ ? dense::conjugate(b[j * inner + k]) : b[k * columns + j]);
        row[j] = add(row[j], multiply(factor, x));
      }
    }
    return ok_status();
  }
  Status check_place(int64_t i, int64_t m, int64_t k, int64_t rows, int64_t inner) const {
    if (m >= 0 && m < rows && k >= 0 && k < inner) return ok_status();
    return place_outside(i, m, k, rows, inner, adjoint_a_);
  }

  const bool adjoint_a_, adjoint_b_;
};

// TensorFlow's, python/ops/sparse_grad.py: the dense one is a product again, a value's the product of a row and a
// column.
Status product_gradient(GradientContext& g) {
  const bool adjoint_a = g.attrs().flag("adjoint_a"), adjoint_b = g.attrs().flag("adjoint_b");
  const Value indices = g.input(0), b = g.input(3);
  Value db = g.add("SparseTensorDenseMatMul", {indices, g.input(1), g.input(2), g.grad(0)},
                   {{"adjoint_a", AttrValue::of(!adjoint_a)}});
  if (adjoint_b) db = g.transpose(db, g.ints({1, 0}, "transpose/perm"));
  Value row = g.gather(indices, g.index(0), 1), column = g.gather(indices, g.index(1), 1);
  Value of_grad = g.gather(g.grad(0), adjoint_a ? column : row);
  Value of_b = g.gather(adjoint_b ? g.transpose(b, g.ints({1, 0}, "transpose/perm")) : b, adjoint_a ? row : column);
  g.set(1, g.sum(g.mul(of_grad, of_b), g.ints({1})));
  g.set(3, db);
  return g.status();
}

Status sum_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  RETURN_IF_ERROR(sparse_inputs(c, 3, 4, 5));
  RETURN_IF_ERROR(c.with_rank(6, 0).take_status());
  const int64_t rank = std::max(sparse_rank(c, 0, 2), sparse_rank(c, 3, 5));
  c.set_output(0, Shape{-1, rank});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{rank});
  return ok_status();
}

template <class T>
class SparseSum {
 public:
  using R = dense::Real<T>;
  explicit SparseSum(KernelContext& c) : c_(c), least_(*c.in<R>(6)) {}

  Status run() {
    ASSIGN_OR_RETURN(const SparseTensor a, SparseTensor::of(c_, 0, 1, 2));
    ASSIGN_OR_RETURN(const SparseTensor b, SparseTensor::of(c_, 3, 4, 5));
    if (a.rank != b.rank)
      return invalid_argument(cat("Ranks of input tensors must match, but saw ranks: ", a.rank, " and ", b.rank));
    for (int64_t d = 0; d < a.rank; ++d) {
      if (a.sizes[d] != b.sizes[d])
        return invalid_argument(
            cat("Input shapes must match: got ", a.sizes[d], " and ", b.sizes[d], " for dimension ", d));
    }
    for (int64_t i = 0, k = 0; i < a.count || k < b.count;) {
      const int order = i == a.count ? 1 : k == b.count ? -1 : a.compare(i, b, k);
      if (order < 0) {
        take(a.place(i), a.rank, c_.in<T>(1)[i]), ++i;
      } else if (order > 0) {
        take(b.place(k), a.rank, c_.in<T>(4)[k]), ++k;
      } else {
        const T sum = add(c_.in<T>(1)[i], c_.in<T>(4)[k]);
        if (!is_small(sum)) take(a.place(i), a.rank, sum);
        ++i, ++k;
      }
    }
    const auto count = static_cast<int64_t>(values_.size());
    RETURN_IF_ERROR(c_.allocate_output(0, Shape{count, a.rank}));
    RETURN_IF_ERROR(c_.allocate_output(1, Shape{count}));
    RETURN_IF_ERROR(c_.allocate_output(2, Shape{a.rank}));
    std::copy(places_.begin(), places_.end(), c_.out<int64_t>(0));
    std::copy(values_.begin(), values_.end(), c_.out<T>(1));
    std::copy_n(a.sizes, a.rank, c_.out<int64_t>(2));
    return ok_status();
  }

 private:
  /// A value that only one of both has stays, as in TensorFlow.
  bool is_small(T sum) const {
    if constexpr (std::is_integral_v<T>)
      return least_ > (sum < 0 ? subtract(T(0), sum) : sum);
    else
      return least_ > std::abs(sum);
  }
  void take(const int64_t* place, int64_t rank, T value) {
    places_.insert(places_.end(), place, place + rank);
    values_.push_back(value);
  }

  KernelContext& c_;
  const R least_;
  ScratchVector<int64_t> places_;
  ScratchVector<T> values_;
};

template <class T>
Status sum_cpu(KernelContext& c) {
  if (c.input(6).num_elements() != 1)
    return invalid_argument(
        cat("The magnitude threshold must be a scalar: got shape ", c.input(6).shape().to_string()));
  return SparseSum<T>(c).run();
}

Status sum_gradient_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 2).take_status());
  RETURN_IF_ERROR(c.with_rank(2, 2).take_status());
  c.set_output(0, Shape{dim_or_unknown(c.input(1), 0)});
  c.set_output(1, Shape{dim_or_unknown(c.input(2), 0)});
  return ok_status();
}

/// What came to the sum at each place, for both that were added; 0 where the sum was dropped.
template <class T>
Status sum_gradient_cpu(KernelContext& c) {
  const Shape &a = c.input(1).shape(), &b = c.input(2).shape(), &sum = c.input(3).shape();
  if (sum.rank() != 2 || a.dim(1) != sum.dim(1) || b.dim(1) != sum.dim(1))
    return invalid_argument("The densified operands should have the same ndims");
  if (c.input(0).num_elements() != sum.dim(0))
    return invalid_argument(
        cat("# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): got ",
            c.input(0).num_elements(), " and ", sum.dim(0)));
  const SparseTensor whole{c.in<int64_t>(3), sum.dim(0), sum.dim(1), nullptr};
  for (int i : {0, 1}) {
    const SparseTensor part{c.in<int64_t>(i + 1), c.input(i + 1).shape().dim(0), sum.dim(1), nullptr};
    int64_t k = 0;
    for (int64_t at = 0; at < part.count; ++at) {
      while (k < whole.count && whole.compare(k, part, at) < 0) ++k;
      const bool there = k < whole.count && whole.compare(k, part, at) == 0;
      c.out<T>(i)[at] = there ? c.in<T>(0)[k] : T(0);
    }
  }
  return ok_status();
}

Status sum_gradient(GradientContext& g) {
  Value both = g.add("SparseAddGrad", {g.grad(1), g.input(0), g.input(3), g.output(0)});
  g.set(1, both);
  g.set(4, both.output(1));
  return g.status();
}

Status softmax_of_sparse_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  c.set_output(0, c.input(1));
  return ok_status();
}

template <class T>
Status softmax_of_sparse_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  if (t.rank < 2) return invalid_argument(cat("Input should have rank >= 2, but received shape of ", t.rank, " sizes"));
  RETURN_IF_ERROR(t.check_places());
  auto same_row = [&](int64_t i, int64_t k) { return std::equal(t.place(i), t.place(i) + t.rank - 1, t.place(k)); };
  for (int64_t begin = 0, end = 0; begin < t.count; begin = end) {
    while (end < t.count && same_row(begin, end)) ++end;
    Summed<T> top = static_cast<Summed<T>>(c.in<T>(1)[begin]), sum = 0;
    for (int64_t i = begin; i < end; ++i) top = std::max(top, static_cast<Summed<T>>(c.in<T>(1)[i]));
    for (int64_t i = begin; i < end; ++i) sum += std::exp(static_cast<Summed<T>>(c.in<T>(1)[i]) - top);
    for (int64_t i = begin; i < end; ++i)
      c.out<T>(0)[i] = static_cast<T>(std::exp(static_cast<Summed<T>>(c.in<T>(1)[i]) - top) / sum);
  }
  return ok_status();
}

// y (dy - sum of y dy in its row).
Status softmax_of_sparse_gradient(GradientContext& g) {
  const Value y = g.output(0), indices = g.input(0);
  Value products = g.mul(y, g.grad(0));
  Value sums = g.add("SparseReduceSum", {indices, products, g.input(2), g.ints({-1}, "Const")});
  Value columns = g.add("Sub", {g.size_of(g.input(2)), g.index(1)}, {}, "sub");
  Value rows = g.add("Slice", {indices, g.ints({0, 0}, "begin"), g.pack({g.index(-1), columns})});
  Value of_row = g.add("GatherNd", {sums, rows});
  g.set(1, g.mul(y, g.add("Sub", {g.grad(0), of_row}, {}, "sub")));
  return g.status();
}

}  // namespace

OpDef sparse_tensor_dense_mat_mul_op() {
  return OpDef("SparseTensorDenseMatMul")
      .doc("The product of a sparse matrix and a dense one, of either its conjugate transpose.")
      .shape(product_shape)
      .kernel_attr("T")
      .value_inputs({2})
      .cpu<float>(make<SparseProduct<float>>)
      .cpu<double>(make<SparseProduct<double>>)
      .cpu<half>(make<SparseProduct<half>>)
      .cpu<bfloat16>(make<SparseProduct<bfloat16>>)
      .cpu<int32_t>(make<SparseProduct<int32_t>>)
      .cpu<complex64>(make<SparseProduct<complex64>>)
      .cpu<complex128>(make<SparseProduct<complex128>>)
      .gradient(product_gradient);
}
OpDef sparse_add_op() {
  return OpDef("SparseAdd")
      .doc("The sum of two sparse tensors; where both have a value, only if their sum is not smaller than a threshold.")
      .shape(sum_shape)
      .kernel_attr("T")
      .provides_outputs()
      .cpu<float>(stateless<sum_cpu<float>>)
      .cpu<double>(stateless<sum_cpu<double>>)
      .cpu<int8_t>(stateless<sum_cpu<int8_t>>)
      .cpu<int16_t>(stateless<sum_cpu<int16_t>>)
      .cpu<int32_t>(stateless<sum_cpu<int32_t>>)
      .cpu<int64_t>(stateless<sum_cpu<int64_t>>)
      .cpu<complex64>(stateless<sum_cpu<complex64>>)
      .cpu<complex128>(stateless<sum_cpu<complex128>>)
      .gradient(sum_gradient);
}
OpDef sparse_add_grad_op() {
  return OpDef("SparseAddGrad")
      .doc("The gradients of SparseAdd with respect to the values of both.")
      .shape(sum_gradient_shape)
      .cpu<float>(stateless<sum_gradient_cpu<float>>)
      .cpu<double>(stateless<sum_gradient_cpu<double>>)
      .cpu<int8_t>(stateless<sum_gradient_cpu<int8_t>>)
      .cpu<int16_t>(stateless<sum_gradient_cpu<int16_t>>)
      .cpu<int32_t>(stateless<sum_gradient_cpu<int32_t>>)
      .cpu<int64_t>(stateless<sum_gradient_cpu<int64_t>>)
      .cpu<complex64>(stateless<sum_gradient_cpu<complex64>>)
      .cpu<complex128>(stateless<sum_gradient_cpu<complex128>>)
      .not_differentiable();
}
OpDef sparse_softmax_op() {
  return OpDef("SparseSoftmax")
      .doc("Softmax of the values that each row has.")
      .shape(softmax_of_sparse_shape)
      .cpu<float>(stateless<softmax_of_sparse_cpu<float>>)
      .cpu<double>(stateless<softmax_of_sparse_cpu<double>>)
      .cpu<half>(stateless<softmax_of_sparse_cpu<half>>)
      .gradient(softmax_of_sparse_gradient);
}

}  // namespace emplace
