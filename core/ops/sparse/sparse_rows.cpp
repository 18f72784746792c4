// SparseFillEmptyRowsGrad, RaggedFillEmptyRows, RaggedFillEmptyRowsGrad, SparseSliceGrad: rows that get a value where
// they have none, and what comes back to values that were moved. SparseSplit: a sparse tensor in parts.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

constexpr DTypeSet kWithComplex = kRealNumbers | DTypeSet{DType::kComplex64, DType::kComplex128};
constexpr DTypeSet kMovedData = kAllData | DTypeSet{DType::kResource};

template <class F>
auto with_number(DType t, const F& f) {
  if (t == DType::kComplex64) return f(complex64{});
  if (t == DType::kComplex128) return f(complex128{});
  return with_real(t, f);
}

Status fill_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape map, c.with_rank(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  c.set_output(0, map);
  c.set_output(1, Shape{});
  return ok_status();
}

Status fill_grad_cpu(KernelContext& c) {
  const Shape &map = c.input(0).shape(), &grads = c.input(1).shape();
  if (map.rank() != 1) return invalid_argument(cat("reverse_index_map must be a vector, saw: ", map.to_string()));
  if (grads.rank() != 1) return invalid_argument(cat("grad_values must be a vector, saw: ", grads.to_string()));
  const int64_t count = map.dim(0), all = grads.dim(0);
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{count}));
  RETURN_IF_ERROR(ensure_output(c, 1, Shape{}));
  ScratchVector<char> visited(static_cast<size_t>(all), 0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = c.in<int64_t>(0)[i];
    if (at < 0 || at >= all)
      return invalid_argument(cat("Elements in reverse index must be in [0, ", all, ") but got ", at));
    visited[static_cast<size_t>(at)] = 1;
  }
  with_number(c.input(1).dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < count; ++i) c.out<T>(0)[i] = c.in<T>(1)[c.in<int64_t>(0)[i]];
    T rest = T(0);
    for (int64_t k = 0; k < all; ++k) {
      if (visited[static_cast<size_t>(k)] == 0) rest = add(rest, c.in<T>(1)[k]);
    }
    *c.out<T>(1) = rest;
  });
  return ok_status();
}

Status ragged_fill_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape rows, c.with_rank(0, 1));
  ASSIGN_OR_RETURN(const Shape values, c.with_rank(1, 1));
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  ASSIGN_OR_RETURN(const int64_t count, ShapeContext::merge_dim(dim_or_unknown(rows, 0), dim_or_unknown(values, 0)));
  ASSIGN_OR_RETURN(const int64_t nrows, dim_from_scalar(c, 2));
  c.set_output(0, Shape{-1});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{nrows});
  c.set_output(3, Shape{count});
  return ok_status();
}

/// Checks the inputs; `lengths`: how many values each row has.
Status count_rows(KernelContext& c, ScratchVector<int64_t>& lengths) {
  const Shape &rowids = c.input(0).shape(), &values = c.input(1).shape();
  if (rowids.rank() != 1) return invalid_argument(cat("value_rowids must be a vector, saw: ", rowids.to_string()));
  if (values.rank() != 1) return invalid_argument(cat("values must be a vector, saw: ", values.to_string()));
  if (rowids.dim(0) != values.dim(0)) {
    return invalid_argument(cat("The length of `values` (", values.dim(0),
                                ") must match the length of `value_rowids` (", rowids.dim(0), ")."));
  }
  if (c.input(2).shape().rank() != 0)
    return invalid_argument(cat("nrows must be a scalar, saw: ", c.input(2).shape().to_string()));
  if (c.input(3).shape().rank() != 0)
    return invalid_argument(cat("default_value must be a scalar, saw: ", c.input(3).shape().to_string()));
  const int64_t rows = *c.in<int64_t>(2);
  if (rows < 0) return invalid_argument(cat("nrows must not be negative, got ", rows));
  if (rows == 0 && rowids.dim(0) != 0)
    return invalid_argument(cat("Received RaggedTensor with no rows but rowids.shape[0] = ", rowids.dim(0)));
  RETURN_IF_ERROR(c.allocate_output(2, Shape{rows}));  // which tells numbers of rows that no memory holds
  lengths.assign(static_cast<size_t>(rows), 0);
  for (int64_t i = 0; i < rowids.dim(0); ++i) {
    const int64_t row = c.in<int64_t>(0)[i];
    if (row < 0 || row >= rows) return invalid_argument(cat("value_rowids(", i, ") is invalid: ", row, " >= ", rows));
    ++lengths[static_cast<size_t>(row)];
  }
  return ok_status();
}

Status ragged_fill_cpu(KernelContext& c) {
  ScratchVector<int64_t> next;  // where the row's next value goes
  RETURN_IF_ERROR(count_rows(c, next));
  const auto rows = static_cast<int64_t>(next.size()), count = c.input(0).num_elements();
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t& at = next[static_cast<size_t>(row)];
    c.out<bool>(2)[row] = at == 0;
    const int64_t length = std::max<int64_t>(at, 1);
    at = total;
    total += length;
  }
  RETURN_IF_ERROR(c.allocate_output(0, rows == 0 ? Shape{0, 1} : Shape{total}));  // as TensorFlow's
  RETURN_IF_ERROR(c.allocate_output(1, Shape{total}));
  RETURN_IF_ERROR(c.allocate_output(3, Shape{count}));
  const auto put = [&](int64_t row, int input, int64_t i) {
    const int64_t at = next[static_cast<size_t>(row)]++;
    c.out<int64_t>(0)[at] = row;
    copy_elements(c.output(1).dtype(), element_at(c.input(input), i), element_at(c.output(1), at), 1);
    return at;
  };
  for (int64_t row = 0; row < rows; ++row) {
    if (c.out<bool>(2)[row]) put(row, 3, 0);
  }
  for (int64_t i = 0; i < count; ++i) c.out<int64_t>(3)[i] = put(c.in<int64_t>(0)[i], 1, i);
  return ok_status();
}

Status ragged_fill_gradient(GradientContext& g) {
  const Value both = g.add("RaggedFillEmptyRowsGrad", {g.output(3), g.grad(1)});
  g.set(1, both);
  g.set(3, both.output(1));
  return g.status();
}

Status slice_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape indices, c.with_rank(1, 2));
  c.set_output(0, Shape{dim_or_unknown(indices, 0)});
  return ok_status();
}

/// What came to the slice at each place, 0 for the places outside.
Status slice_grad_cpu(KernelContext& c) {
  const Shape &grads = c.input(0).shape(), &in = c.input(1).shape(), &start = c.input(2).shape(),
              &out = c.input(3).shape();
  if (grads.rank() != 1 || in.rank() != 2 || out.rank() != 2) {
    return invalid_argument(cat("gradients are a vector and indices are matrices, found ", grads.to_string(), ", ",
                                in.to_string(), " and ", out.to_string()));
  }
  const int64_t rank = in.dim(1);
  if (start.rank() != 1 || start.dim(0) != rank || out.dim(1) != rank)
    return invalid_argument(cat("Expected ", rank, " numbers in input_start and a place, found ", start.to_string(),
                                " and ", out.to_string()));
  if (grads.dim(0) != out.dim(0))
    return invalid_argument(
        cat("# elements of backprop_val_grad and # rows of output_indices should match (#nnz of sum): got ",
            grads.dim(0), " and ", out.dim(0)));
  if (out.dim(0) > in.dim(0))
    return invalid_argument(cat("# rows of output_indices should be not greater than of input_indices, got ",
                                out.dim(0), " and ", in.dim(0)));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{in.dim(0)}));
  const int64_t *from = c.in<int64_t>(1), *to = c.in<int64_t>(3), *first = c.in<int64_t>(2);
  return with_number(c.input(0).dtype(), [&]<class T>(T) -> Status {
    int64_t k = 0;
    for (int64_t i = 0; i < in.dim(0); ++i) {
      bool same = k < out.dim(0);
      for (int64_t d = 0; same && d < rank; ++d) same = from[i * rank + d] - first[d] == to[k * rank + d];
      c.out<T>(0)[i] = same ? c.in<T>(0)[k++] : T(0);
    }
    if (k == grads.dim(0)) return ok_status();
    return internal_error(
        cat("Elements of backprop_val_grad aren't all propagated. Num elements:", grads.dim(0), ", used: ", k));
  });
}

Status split_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape sizes, c.with_rank(3, 1));
  const int parts = static_cast<int>(c.attrs().integer("num_split"));
  for (int i = 0; i < parts; ++i) {
    c.set_output(i, Shape{-1, dim_or_unknown(sizes, 0)});
    c.set_output(parts + i, Shape{-1});
    c.set_output(2 * parts + i, sizes);
  }
  return ok_status();
}

class SparseSplit final : public Kernel {
 public:
  explicit SparseSplit(const KernelInit& init) : parts_(init.attrs.integer("num_split")) {}

  Status run(KernelContext& c) override {
    if (c.input(0).num_elements() != 1)
      return invalid_argument(
          cat("Input split_dim should be a scalar but received shape ", c.input(0).shape().to_string()));
    ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 1, 2, 3));
    int64_t axis = *c.in<int64_t>(0);
    if (axis < -t.rank || axis >= t.rank)
      return invalid_argument(cat("Input split_dim should be between ", -t.rank, " and ", t.rank, ", got ", axis));
    if (axis < 0) axis += t.rank;
    if (parts_ < 1 || parts_ > t.sizes[axis])
      return invalid_argument(cat("Input num_split should be between 1 and the splitting dimension size (",
                                  t.sizes[axis], "), got ", parts_));
    RETURN_IF_ERROR(t.check_places());
    // The first parts have one more, where it does not come out even.
    const int64_t size = t.sizes[axis] / parts_, longer = t.sizes[axis] % parts_;
    const auto begin_of = [&](int64_t part) { return part * size + std::min(part, longer); };
    ScratchVector<int64_t> part_of(static_cast<size_t>(t.count)), counts(static_cast<size_t>(parts_), 0);
    for (int64_t i = 0; i < t.count; ++i) {
      const int64_t at = t.place(i)[axis], long_end = longer * (size + 1);
      const int64_t part = at < long_end ? at / (size + 1) : longer + (at - long_end) / size;
      part_of[static_cast<size_t>(i)] = part;
      ++counts[static_cast<size_t>(part)];
    }
    for (int64_t part = 0; part < parts_; ++part)
      RETURN_IF_ERROR(write(c, t, axis, part, counts[static_cast<size_t>(part)], part_of, begin_of));
    return ok_status();
  }

 private:
  template <class Begin>
  Status write(KernelContext& c, const SparseTensor& t, int64_t axis, int64_t part, int64_t count,
               const ScratchVector<int64_t>& part_of, const Begin& begin_of) const {
    const int places = static_cast<int>(part), values = static_cast<int>(parts_ + part),
              sizes = static_cast<int>(2 * parts_ + part);
    RETURN_IF_ERROR(c.allocate_output(places, Shape{count, t.rank}));
    RETURN_IF_ERROR(c.allocate_output(values, Shape{count}));
    RETURN_IF_ERROR(c.allocate_output(sizes, Shape{t.rank}));
    std::copy_n(t.sizes, t.rank, c.out<int64_t>(sizes));
    c.out<int64_t>(sizes)[axis] = begin_of(part + 1) - begin_of(part);
    int64_t k = 0;
    for (int64_t i = 0; i < t.count; ++i) {
      if (part_of[static_cast<size_t>(i)] != part) continue;
      int64_t* place = c.out<int64_t>(places) + k * t.rank;
      std::copy_n(t.place(i), t.rank, place);
      place[axis] -= begin_of(part);
      copy_elements(c.output(values).dtype(), element_at(c.input(2), i), element_at(c.output(values), k++), 1);
    }
    return ok_status();
  }

  const int64_t parts_;
};

}  // namespace

OpDef sparse_fill_empty_rows_grad_op() {
  return OpDef("SparseFillEmptyRowsGrad")
      .doc("What comes back to the values of SparseFillEmptyRows, and, added up, to the value that filled.")
      .shape(fill_grad_shape)
      .cpu(kWithComplex, stateless<fill_grad_cpu>);
}
OpDef ragged_fill_empty_rows_op() {
  return OpDef("RaggedFillEmptyRows")
      .doc(
          "A ragged tensor whose empty rows get one value each; which rows these are, and where the other values went.")
      .shape(ragged_fill_shape)
      .value_inputs({2})
      .cpu(kMovedData, stateless<ragged_fill_cpu>)
      .provides_outputs()
      .gradient(ragged_fill_gradient);
}
OpDef ragged_fill_empty_rows_grad_op() {
  return OpDef("RaggedFillEmptyRowsGrad")
      .doc("What comes back to the values of RaggedFillEmptyRows, and, added up, to the value that filled.")
      .shape(fill_grad_shape)
      .cpu(kWithComplex, stateless<fill_grad_cpu>);
}
OpDef sparse_slice_grad_op() {
  return OpDef("SparseSliceGrad")
      .doc("What comes back to the values of SparseSlice.")
      .shape(slice_grad_shape)
      .cpu(kWithComplex, stateless<slice_grad_cpu>);
}
OpDef sparse_split_op() {
  return OpDef("SparseSplit")
      .doc("A sparse tensor in parts along one axis, the first of them one longer where it does not come out even.")
      .shape(split_shape)
      .cpu(kMovedData, make<SparseSplit>)
      .provides_outputs();
}

}  // namespace emplace
