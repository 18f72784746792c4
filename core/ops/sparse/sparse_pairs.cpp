// SparseSparseMaximum, SparseSparseMinimum: two sparse tensors element by element. SparseDenseCwiseMul,
// SparseDenseCwiseAdd, SparseDenseCwiseDiv: the values of a sparse one with those of a dense one at their places.
// SparseTensorDenseAdd: a dense tensor with a sparse one added.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

Status pair_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  RETURN_IF_ERROR(sparse_inputs(c, 3, 4, 5));
  c.set_output(0, Shape{-1, sparse_rank(c, 0, 2)});
  c.set_output(1, Shape{-1});
  return ok_status();
}

/// A place that either has: which value each has there, or -1, which counts as 0.
struct Meeting {
  int64_t a, b;
};

ScratchVector<Meeting> meetings(const SparseTensor& a, const SparseTensor& b) {
  ScratchVector<Meeting> all;
  int64_t i = 0, k = 0;
  while (i < a.count || k < b.count) {
    const int order = i == a.count ? 1 : k == b.count ? -1 : a.compare(i, b, k);
    all.push_back({order <= 0 ? i++ : -1, order >= 0 ? k++ : -1});
  }
  return all;
}

template <bool kLarger>
Status extremum_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const SparseTensor a, SparseTensor::of(c, 0, 1, 2));
  ASSIGN_OR_RETURN(const SparseTensor b, SparseTensor::of(c, 3, 4, 5));
  if (a.rank != b.rank || !std::equal(a.sizes, a.sizes + a.rank, b.sizes))
    return invalid_argument("Operands do not have the same shapes");
  RETURN_IF_ERROR(a.check_places());
  RETURN_IF_ERROR(b.check_places());
  const ScratchVector<Meeting> all = meetings(a, b);
  const auto count = static_cast<int64_t>(all.size());
  RETURN_IF_ERROR(c.allocate_output(0, Shape{count, a.rank}));
  RETURN_IF_ERROR(c.allocate_output(1, Shape{count}));
  for (int64_t i = 0; i < count; ++i) {
    const Meeting& m = all[static_cast<size_t>(i)];
    std::copy_n(m.a >= 0 ? a.place(m.a) : b.place(m.b), a.rank, c.out<int64_t>(0) + i * a.rank);
  }
  with_real(c.input(1).dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < count; ++i) {
      const Meeting& m = all[static_cast<size_t>(i)];
      const T x = m.a >= 0 ? c.in<T>(1)[m.a] : T(0), y = m.b >= 0 ? c.in<T>(4)[m.b] : T(0);
      c.out<T>(1)[i] = kLarger ? (x < y ? y : x) : (y < x ? y : x);
    }
  });
  return ok_status();
}

Status beside_dense_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 2).take_status());
  c.set_output(0, Shape{dim_or_unknown(c.input(0), 0)});
  return ok_status();
}

/// Where the element of `dense`, spread over the sizes of `t`, lies for place i. Missing dimensions are the outer ones.
int64_t spread_offset(const SparseTensor& t, int64_t i, const Shape& dense) {
  int64_t at = 0, stride = 1;
  for (int d = 1; d <= dense.rank(); ++d) {
    if (dense.dim_from_end(d) != 1) at += t.place(i)[t.rank - d] * stride;
    stride *= dense.dim_from_end(d);
  }
  return at;
}

std::string join_sizes(const SparseTensor& t) {
  std::string out;
  for (int64_t d = 0; d < t.rank; ++d) append(out, d > 0 ? "," : "", t.sizes[d]);
  return out;
}

/// The smallest integer divided by -1 wraps.
template <class T>
T divided(T x, T y) {
  return std::is_signed_v<T> && y == T(-1) ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x))
                                           : static_cast<T>(x / y);
}

enum class BesideDense : uint8_t { kAdd, kMul, kDiv };

template <BesideDense kWhat, class T>
T with_dense(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::make_unsigned_t<std::common_type_t<T, int>>;
    if constexpr (kWhat == BesideDense::kDiv) return divided(x, y);
    if constexpr (kWhat == BesideDense::kAdd) return static_cast<T>(static_cast<Wide>(x) + static_cast<Wide>(y));
    return static_cast<T>(static_cast<Wide>(x) * static_cast<Wide>(y));
  } else {
    return kWhat == BesideDense::kDiv ? x / y : kWhat == BesideDense::kAdd ? x + y : x * y;
  }
}

template <BesideDense kWhat>
Status beside_dense_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  const Shape& dense = c.input(3).shape();
  bool fits = dense.rank() <= t.rank;
  for (int d = 1; fits && d <= dense.rank(); ++d)
    fits = dense.dim_from_end(d) == 1 || dense.dim_from_end(d) == t.sizes[t.rank - d];
  if (!fits) {
    return invalid_argument(cat("SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: [",
                                join_sizes(t), "] vs. ", dense.to_string()));
  }
  RETURN_IF_ERROR(t.check_places());
  return with_real(c.input(1).dtype(), [&]<class T>(T) -> Status {
    for (int64_t i = 0; i < t.count; ++i) {
      const T x = c.in<T>(1)[i], y = c.in<T>(3)[spread_offset(t, i, dense)];
      if constexpr (std::is_integral_v<T> && kWhat == BesideDense::kDiv) {
        if (y == 0) return invalid_argument("Integer division by zero");
      }
      c.out<T>(0)[i] = with_dense<kWhat>(x, y);
    }
    return ok_status();
  });
}

// As TensorFlow's, python/ops/sparse_grad.py.
Status beside_dense_gradient(GradientContext& g, bool divides) {
  const Value indices = g.input(0), values = g.input(1), sizes = g.input(2), dense = g.input(3), dy = g.grad(0);
  const Value have = g.cast(g.shape_of(dense), DType::kInt64);
  const Value missing =
      g.reshape(g.add("Sub", {g.size_of(sizes), g.size_of(have)}, {}, "sub"), std::vector<int64_t>{1});
  const Value ones = g.add("Fill", {missing, g.index(1, "ones/Const", DType::kInt64)}, {}, "ones");
  const Value spread = g.add("FloorDiv", {sizes, g.concat({ones, have})}, {}, "floordiv");
  const Value scaled = g.add("FloorDiv", {indices, spread}, {}, "floordiv");
  const Value places = g.add("Slice", {scaled, g.concat({g.ints({0}), missing}), g.ints({-1, -1})});
  const Value there = g.add("GatherNd", {dense, places});
  Value of_dense;
  if (divides) {
    g.set(1, g.add("RealDiv", {dy, there}, {}, "truediv"));
    of_dense = g.mul(dy, g.add("RealDiv", {g.neg(values), g.add("Square", {there})}, {}, "truediv"));
  } else {
    g.set(1, g.mul(dy, there));
    of_dense = g.mul(dy, values);
  }
  g.set(3, g.add("ScatterNd", {places, of_dense, have}));
  return g.status();
}
Status beside_dense_mul_gradient(GradientContext& g) { return beside_dense_gradient(g, false); }
Status beside_dense_div_gradient(GradientContext& g) { return beside_dense_gradient(g, true); }

Status dense_sum_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  c.set_output(0, c.input(3));
  return ok_status();
}

template <class I>
Status dense_sum_cpu(KernelContext& c) {
  const Shape &places = c.input(0).shape(), &values = c.input(1).shape(), &sizes = c.input(2).shape(),
              &dense = c.input(3).shape();
  if (places.rank() != 2)
    return invalid_argument(cat("Input a_indices should be a matrix but received shape: ", places.to_string()));
  if (values.rank() != 1 || sizes.rank() != 1) {
    return invalid_argument(cat("Inputs a_values and a_shape should be vectors but received shapes: ",
                                values.to_string(), " and ", sizes.to_string()));
  }
  const int64_t rank = sizes.dim(0);
  if (values.dim(0) != places.dim(0) || rank != places.dim(1) || rank != dense.rank()) {
    return invalid_argument(cat("Indices ", places.to_string(), " do not fit ", values.dim(0), " values and ", rank,
                                " sizes, or a dense tensor of shape ", dense.to_string()));
  }
  if (rank < 1 || rank > 5)
    return invalid_argument(
        cat("Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: ", rank));
  for (int64_t d = 0; d < rank; ++d) {
    if (int64_t{c.in<I>(2)[d]} != dense.dim(static_cast<int>(d))) {
      return invalid_argument(cat("Dimension ", d, " does not equal (no broadcasting is supported): sparse side ",
                                  c.in<I>(2)[d], " vs dense side ", dense.dim(static_cast<int>(d))));
    }
  }
  copy_elements(*c.parallel_, c.output(0).dtype(), c.input(3).raw(), c.output(0).raw(), c.output(0).num_elements());
  const auto sum = [&]<class T>(T) -> Status {
    for (int64_t i = 0; i < values.dim(0); ++i) {
      int64_t flat = 0;
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t at = int64_t{c.in<I>(0)[i * rank + d]}, size = dense.dim(static_cast<int>(d));
        if (at < 0 || at >= size)
          return invalid_argument(cat("Sparse tensor has an invalid index on dimension ", d, ": ", at, ", of ", size));
        flat = flat * size + at;
      }
      c.out<T>(0)[flat] = add(c.out<T>(0)[flat], c.in<T>(1)[i]);
    }
    return ok_status();
  };
  if (c.output(0).dtype() == DType::kComplex64) return sum(complex64{});
  if (c.output(0).dtype() == DType::kComplex128) return sum(complex128{});
  return with_real(c.output(0).dtype(), sum);
}

class DenseSum final : public Kernel {
 public:
  explicit DenseSum(const KernelInit& init) : wide_(init.input_types[0] == DType::kInt64) {}
  Status run(KernelContext& c) override { return wide_ ? dense_sum_cpu<int64_t>(c) : dense_sum_cpu<int32_t>(c); }

 private:
  const bool wide_;
};

Status dense_sum_gradient(GradientContext& g) {
  g.set(1, g.add("GatherNd", {g.grad(0), g.input(0)}));
  g.set(3, g.grad(0));
  return g.status();
}

OpDef extremum(std::string_view name, std::string_view doc, KernelMaker maker) {
  return OpDef(name).doc(doc).shape(pair_shape).cpu(kRealNumbers, maker).provides_outputs();
}
OpDef beside_dense(std::string_view name, std::string_view doc, KernelMaker maker) {
  return OpDef(name).doc(doc).shape(beside_dense_shape).cpu(kRealNumbers, maker);
}

}  // namespace

OpDef sparse_sparse_maximum_op() {
  return extremum("SparseSparseMaximum", "The larger of two sparse tensors' elements; what one lacks is 0.",
                  stateless<extremum_cpu<true>>);
}
OpDef sparse_sparse_minimum_op() {
  return extremum("SparseSparseMinimum", "The smaller of two sparse tensors' elements; what one lacks is 0.",
                  stateless<extremum_cpu<false>>);
}
OpDef sparse_dense_cwise_add_op() {
  return beside_dense("SparseDenseCwiseAdd", "The values of a sparse tensor, plus what a dense one has there.",
                      stateless<beside_dense_cpu<BesideDense::kAdd>>);
}
OpDef sparse_tensor_dense_add_op() {
  return OpDef("SparseTensorDenseAdd")
      .doc("A dense tensor with the values of a sparse one added.")
      .shape(dense_sum_shape)
      .kernel_attr("T")
      .cpu(kRealNumbers | DTypeSet{DType::kComplex64, DType::kComplex128}, make<DenseSum>)
      .gradient(dense_sum_gradient);
}
OpDef sparse_dense_cwise_mul_op() {
  return beside_dense("SparseDenseCwiseMul", "The values of a sparse tensor, times what a dense one has there.",
                      stateless<beside_dense_cpu<BesideDense::kMul>>)
      .gradient(beside_dense_mul_gradient);
}
OpDef sparse_dense_cwise_div_op() {
  return beside_dense("SparseDenseCwiseDiv", "The values of a sparse tensor, divided by what a dense one has there.",
                      stateless<beside_dense_cpu<BesideDense::kDiv>>)
      .gradient(beside_dense_div_gradient);
}

}  // namespace emplace
