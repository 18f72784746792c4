// SparseReorder, SparseReshape, SparseSlice, SparseConcat and SparseFillEmptyRows: sparse tensors whose values are
// moved only.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

constexpr DTypeSet kSparseData = kAllData | DTypeSet{DType::kResource};

void copy_value(const Tensor& from, int64_t i, Tensor& to, int64_t k) {
  copy_elements(to.dtype(), element_at(from, i), element_at(to, k), 1);
}

Status reorder_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  const int64_t count = std::max(dim_or_unknown(c.input(0), 0), dim_or_unknown(c.input(1), 0));
  c.set_output(0, Shape{count, sparse_rank(c, 0, 2)});
  c.set_output(1, Shape{count});
  return ok_status();
}

Status reorder_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  const ScratchVector<int64_t> order = t.order();
  for (int64_t i = 0; i < t.count; ++i) {
    const int64_t from = order[static_cast<size_t>(i)];
    std::copy_n(t.place(from), t.rank, c.out<int64_t>(0) + i * t.rank);
    copy_value(c.input(1), from, c.output(1), i);
  }
  return ok_status();
}

// Each value goes back to where it came from, which its number tells when it is moved alike.
Status reorder_gradient(GradientContext& g) {
  Value numbers = g.range(g.index(0, "range/start"), g.size_of(g.input(1)), g.index(1, "range/delta"));
  Value moved = g.add("SparseReorder", {g.input(0), numbers, g.input(2)}).output(1);
  g.set(1, g.gather(g.grad(1), g.add("InvertPermutation", {moved})));
  return g.status();
}

Status reshape_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape indices, c.with_rank(0, 2));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  ASSIGN_OR_RETURN(const Shape sizes, c.with_rank(2, 1));
  c.set_output(0, Shape{dim_or_unknown(indices, 0), dim_or_unknown(sizes, 0)});
  c.set_output(1, sizes);
  return ok_status();
}

/// The asked sizes, of which one may be -1, for as many elements as there are.
Result<ScratchVector<int64_t>> new_sizes(const Tensor& asked, int64_t elements) {
  ScratchVector<int64_t> sizes(static_cast<size_t>(asked.num_elements()));
  int64_t open = -1, product = 1;
  for (int64_t d = 0; d < asked.num_elements(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)] = asked.data<int64_t>()[d];
    if (size == -1 && open >= 0)
      return invalid_argument(cat("only one output dimension may be -1, not both ", open, " and ", d));
    if (size == -1) {
      open = d;
    } else if (size < 0) {
      return invalid_argument(cat("size ", d, " must be non-negative, not ", size));
    } else if (__builtin_mul_overflow(product, size, &product)) {
      return invalid_argument("the sizes' product is too large to be counted");
    }
  }
  if (open >= 0) {
    if (product == 0)
      return invalid_argument(
          "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
          "non-zero");
    sizes[static_cast<size_t>(open)] = elements / product;
    product *= elements / product;
  }
  if (product != elements)
    return invalid_argument(
        cat("Input to reshape is a tensor with ", elements, " dense values, but the requested shape has ", product));
  return sizes;
}

Status reshape_cpu(KernelContext& c) {
  const Shape& form = c.input(0).shape();
  SparseTensor t{c.in<int64_t>(0), form.dim(0), form.dim(1), c.in<int64_t>(1)};
  if (c.input(1).num_elements() != t.rank)
    return invalid_argument(
        cat("Input tensor rank must match input shape length: ", t.rank, " and ", c.input(1).num_elements()));
  for (int64_t d = 0; d < t.rank; ++d) {
    if (t.sizes[d] < 0) return invalid_argument(cat("size ", d, " must be non-negative, not ", t.sizes[d]));
  }
  RETURN_IF_ERROR(t.check_places());
  ASSIGN_OR_RETURN(const int64_t elements, t.num_elements());
  ASSIGN_OR_RETURN(const ScratchVector<int64_t> sizes, new_sizes(c.input(2), elements));
  std::copy(sizes.begin(), sizes.end(), c.out<int64_t>(1));
  const auto rank = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < t.count; ++i) {
    int64_t flat = 0;
    for (int64_t d = 0; d < t.rank; ++d) flat = flat * t.sizes[d] + t.place(i)[d];
    for (int64_t d = rank - 1; d >= 0; --d) {
      c.out<int64_t>(0)[i * rank + d] = flat % sizes[static_cast<size_t>(d)];
      flat /= sizes[static_cast<size_t>(d)];
    }
  }
  return ok_status();
}

Status slice_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  const int64_t rank = sparse_rank(c, 0, 2);
  c.set_output(0, Shape{-1, rank});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{rank});
  return ok_status();
}

Status slice_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  for (int i : {3, 4}) {
    if (c.input(i).shape() != Shape{t.rank})
      return invalid_argument(cat("Input start and size should be vectors of ", t.rank, " numbers but received shape ",
                                  c.input(i).shape().to_string()));
  }
  const int64_t *start = c.in<int64_t>(3), *size = c.in<int64_t>(4);
  for (int64_t d = 0; d < t.rank; ++d) {
    if (start[d] < 0 || size[d] < 0)
      return invalid_argument(cat("start and size of dimension ", d, " must not be negative"));
  }
  RETURN_IF_ERROR(t.check_places());
  ScratchVector<int64_t> kept;
  for (int64_t i = 0; i < t.count; ++i) {
    bool inside = true;
    for (int64_t d = 0; d < t.rank; ++d) {
      const int64_t at = t.place(i)[d];
      inside = inside && at >= start[d] && at - start[d] < size[d];
    }
    if (inside) kept.push_back(i);
  }
  const auto count = static_cast<int64_t>(kept.size());
  RETURN_IF_ERROR(c.allocate_output(0, Shape{count, t.rank}));
  RETURN_IF_ERROR(c.allocate_output(1, Shape{count}));
  RETURN_IF_ERROR(c.allocate_output(2, Shape{t.rank}));
  for (int64_t d = 0; d < t.rank; ++d)
    c.out<int64_t>(2)[d] = std::max<int64_t>(0, std::min(size[d], t.sizes[d] - start[d]));
  for (int64_t k = 0; k < count; ++k) {
    const int64_t i = kept[static_cast<size_t>(k)];
    for (int64_t d = 0; d < t.rank; ++d) c.out<int64_t>(0)[k * t.rank + d] = t.place(i)[d] - start[d];
    copy_value(c.input(1), i, c.output(1), k);
  }
  return ok_status();
}

// The values' numbers, sliced alike, say where each came from.
Status slice_gradient(GradientContext& g) {
  Value count = g.size_of(g.input(1));
  Value numbers = g.range(g.index(0, "range/start"), count, g.index(1, "range/delta"));
  Value kept = g.add("SparseSlice", {g.input(0), numbers, g.input(2), g.input(3), g.input(4)}).output(1);
  g.set(1, g.add("UnsortedSegmentSum", {g.grad(1), kept, count}));
  return g.status();
}

Status concat_shape(ShapeContext& c) {
  const int n = c.num_inputs() / 3;
  int64_t count = 0, rank = -1;
  for (int i = 0; i < n; ++i) {
    RETURN_IF_ERROR(sparse_inputs(c, i, n + i, 2 * n + i));
    ASSIGN_OR_RETURN(rank, ShapeContext::merge_dim(rank, sparse_rank(c, i, 2 * n + i)));
    ASSIGN_OR_RETURN(count, add_dims(count, dim_or_unknown(c.input(i), 0)));
  }
  c.set_output(0, Shape{count, rank});
  c.set_output(1, Shape{count});
  c.set_output(2, Shape{rank});
  return ok_status();
}

class SparseConcat final : public Kernel {
 public:
  explicit SparseConcat(const KernelInit& init) : axis_(init.attrs.integer("concat_dim")) {}

  Status run(KernelContext& c) override {
    const int n = c.num_inputs() / 3;
    int64_t rank = 0, axis = 0, count = 0, offset = 0;
    ScratchVector<int64_t> places, sizes;
    for (int i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, i, n + i, 2 * n + i));
      if (i == 0) {
        rank = t.rank, axis = axis_ < 0 ? axis_ + rank : axis_;
        if (axis < 0 || axis >= rank)
          return invalid_argument(cat("Concat dimension must be in range [", -rank, ", ", rank, "), got ", axis_));
        sizes.assign(t.sizes, t.sizes + rank);
      } else {
        RETURN_IF_ERROR(check_sizes(t, sizes, axis, i));
        if (__builtin_add_overflow(sizes[static_cast<size_t>(axis)], t.sizes[axis], &sizes[static_cast<size_t>(axis)]))
          return invalid_argument("the sizes' sum is too large");
      }
      RETURN_IF_ERROR(t.check_places());
      for (int64_t k = 0; k < t.count; ++k) {
        for (int64_t d = 0; d < rank; ++d) places.push_back(t.place(k)[d] + (d == axis ? offset : 0));
      }
      count += t.count;
      offset = sizes[static_cast<size_t>(axis)];
    }
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{count, rank}));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{count}));
    RETURN_IF_ERROR(ensure_output(c, 2, Shape{rank}));
    std::copy(sizes.begin(), sizes.end(), c.out<int64_t>(2));
    put_in_order(c, n, SparseTensor{places.data(), count, rank, sizes.data()});
    return ok_status();
  }

 private:
  static Status check_sizes(const SparseTensor& t, const ScratchVector<int64_t>& sizes, int64_t axis, int i) {
    if (t.rank != static_cast<int64_t>(sizes.size()))
      return invalid_argument(cat("Ranks of all input tensors must match: expected ", sizes.size(), " but got ", t.rank,
                                  " at position ", i));
    for (int64_t d = 0; d < t.rank; ++d) {
      if (d != axis && t.sizes[d] != sizes[static_cast<size_t>(d)])
        return invalid_argument(cat("Input shapes must match: expected ", sizes[static_cast<size_t>(d)],
                                    " for dimension ", d, " but got ", t.sizes[d], " at position ", i));
    }
    return ok_status();
  }

  static void put_in_order(KernelContext& c, int n, const SparseTensor& all) {
    ScratchVector<std::pair<int, int64_t>> sources;  // of each value: which input, and where there
    for (int i = 0; i < n; ++i) {
      for (int64_t k = 0; k < c.input(n + i).num_elements(); ++k) sources.emplace_back(n + i, k);
    }
    const ScratchVector<int64_t> order = all.order();
    for (int64_t i = 0; i < all.count; ++i) {
      const int64_t from = order[static_cast<size_t>(i)];
      std::copy_n(all.place(from), all.rank, c.out<int64_t>(0) + i * all.rank);
      const auto [input, k] = sources[static_cast<size_t>(from)];
      copy_value(c.input(input), k, c.output(1), i);
    }
  }

  const int64_t axis_;
};

Status fill_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  int64_t rows = -1;
  if (const Shape sizes = c.input_as_shape(2); sizes.rank_known() && sizes.rank() > 0) rows = sizes.dim(0);
  c.set_output(0, Shape{-1, sparse_rank(c, 0, 2)});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{rows});
  c.set_output(3, Shape{dim_or_unknown(c.input(0), 0)});
  return ok_status();
}

Status fill_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  if (t.rank == 0) return invalid_argument("Dense shape cannot be empty.");
  if (c.input(3).num_elements() != 1)
    return invalid_argument(cat("default_value must be a scalar, saw: ", c.input(3).shape().to_string()));
  const int64_t rows = t.sizes[0];
  if (rows == 0 && t.count > 0)
    return invalid_argument(cat("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = ", t.count));
  RETURN_IF_ERROR(c.allocate_output(2, Shape{rows}));
  bool* empty = c.out<bool>(2);
  std::fill_n(empty, rows, true);
  for (int64_t i = 0; i < t.count; ++i) {
    const int64_t row = t.place(i)[0];
    if (row < 0 || row >= rows) return invalid_argument(cat("indices(", i, ", 0) is invalid: ", row, " >= ", rows));
    empty[row] = false;
  }
  int64_t total = 0;
  ASSIGN_OR_RETURN(Tensor starts, c.allocate_scratch(DType::kInt64, Shape{rows}));
  auto* next = starts.data<int64_t>();  // where the row's next value goes
  std::fill_n(next, rows, 0);
  for (int64_t i = 0; i < t.count; ++i) ++next[t.place(i)[0]];
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t length = std::max<int64_t>(next[r], 1);
    next[r] = total;
    total += length;
  }
  RETURN_IF_ERROR(c.allocate_output(0, Shape{total, t.rank}));
  RETURN_IF_ERROR(c.allocate_output(1, Shape{total}));
  RETURN_IF_ERROR(c.allocate_output(3, Shape{t.count}));
  for (int64_t r = 0; r < rows; ++r) {
    if (!empty[r]) continue;
    const int64_t at = next[r];
    int64_t* place = c.out<int64_t>(0) + at * t.rank;
    std::fill_n(place, t.rank, 0);
    place[0] = r;
    copy_value(c.input(3), 0, c.output(1), at);
  }
  for (int64_t i = 0; i < t.count; ++i) {
    const int64_t at = next[t.place(i)[0]]++;
    std::copy_n(t.place(i), t.rank, c.out<int64_t>(0) + at * t.rank);
    copy_value(c.input(1), i, c.output(1), at);
    c.out<int64_t>(3)[i] = at;
  }
  return ok_status();
}

// What came to the values; what came to the fillings, added up.
Status fill_gradient(GradientContext& g) {
  Value values = g.gather(g.grad(1), g.output(3));
  Value all = g.sum(g.grad(1), g.ints({0}));
  g.set(1, values);
  g.set(3, g.add("Sub", {all, g.sum(values, g.ints({0}))}, {}, "sub"));
  return g.status();
}

}  // namespace

OpDef sparse_reorder_op() {
  return OpDef("SparseReorder")
      .doc("The same sparse tensor, its values in the order of rows.")
      .shape(reorder_shape)
      .cpu(kSparseData, stateless<reorder_cpu>)
      .gradient(reorder_gradient);
}
OpDef sparse_reshape_op() {
  return OpDef("SparseReshape")
      .doc("The places of a sparse tensor's values in another shape, of which one size may be -1.")
      .shape(reshape_shape)
      .cpu(stateless<reshape_cpu>)
      .not_differentiable();
}
OpDef sparse_slice_op() {
  return OpDef("SparseSlice")
      .doc("What of a sparse tensor lies in a block.")
      .shape(slice_shape)
      .cpu(kSparseData, stateless<slice_cpu>)
      .provides_outputs()
      .gradient(slice_gradient);
}
OpDef sparse_concat_op() {
  return OpDef("SparseConcat")
      .doc("Sparse tensors beside each other along one dimension.")
      .shape(concat_shape)
      .cpu(kSparseData, make<SparseConcat>)
      .not_differentiable();
}
OpDef sparse_fill_empty_rows_op() {
  return OpDef("SparseFillEmptyRows")
      .doc(
          "A sparse tensor whose empty rows get one value each; which rows these are, and where the other values went.")
      .shape(fill_shape)
      .cpu(kSparseData, stateless<fill_cpu>)
      .provides_outputs()
      .gradient(fill_gradient);
}

}  // namespace emplace
