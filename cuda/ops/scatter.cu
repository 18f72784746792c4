// Rows put where indices say: ScatterNd, TensorScatter*, Scatter* into variables, Segment* and UnsortedSegment*,
// SparseToDense. Rows are sorted by where they go, and those that meet are combined in their order: the same bytes on
// every run. An index out of range counts for nothing.
#include <mutex>

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/state/variable_state.h"
#include "cuda/combine_rows.h"
#include "cuda/tuples.h"

namespace emplace::cuda {
namespace {

/// What the combination of no rows gives, where `sorted` says so (Segment*) 0 or 1.
template <class T>
T start_of(Combine combine, bool sorted) {
  if (combine == Combine::kMultiply) return narrow<T>(Wide<T>(1));
  if constexpr (!kIsComplex<T>) {
    if (!sorted && combine == Combine::kMaximum) return narrow<T>(lowest_finite<T>());
    if (!sorted && combine == Combine::kMinimum) return narrow<T>(highest_finite<T>());
  }
  return narrow<T>(Wide<T>(0));
}

__global__ void tuple_keys_kernel(Tuples tuples, uint64_t* keys, int64_t n, uint64_t none) {
  EMPLACE_ROLLED for (int64_t t = thread_index(); t < n; t += thread_count()) {
    const int64_t at = tuples.place(t);
    keys[t] = at < 0 ? none : static_cast<uint64_t>(at);
  }
}

Result<Rows> rows_at(KernelContext& c, const NdIndex& index, int64_t elements) {
  Rows r{{}, index.tuples, index.slice > 0 ? elements / index.slice : 0, index.slice};
  ASSIGN_OR_RETURN(const Tuples tuples, Tuples::of(index));
  ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{r.count}));
  RETURN_IF_ERROR(launch(Barriers::kNone, tuple_keys_kernel, grid_for(r.count), kThreads, 0, stream_of(c), tuples,
                         keys.data<uint64_t>(), r.count, static_cast<uint64_t>(r.rows)));
  ASSIGN_OR_RETURN(r.sorted, sort_keys(c, std::move(keys), r.count, bits_below(static_cast<uint64_t>(r.rows) + 1)));
  return r;
}
Result<Rows> rows_at(KernelContext& c, const Tensor& indices, int64_t rows, int64_t slice) {
  Rows r{{}, indices.num_elements(), rows, slice};
  ASSIGN_OR_RETURN(r.sorted, sort_rows(c, indices, rows));
  return r;
}

/// ScatterNd (into zeros), TensorScatter* and ScatterNdNonAliasingAdd (into a copy of input 0).
template <class T>
class ScatterNd final : public Kernel {
 public:
  explicit ScatterNd(const KernelInit& init)
      : into_zeros_(init.op == "ScatterNd"),
        combine_(init.op == "TensorScatterUpdate" ? Combine::kAssign
                 : init.op == "TensorScatterSub"  ? Combine::kSubtract
                                                  : Combine::kAdd) {}

  Status prepare(KernelContext& c) override {
    const Shape& indices = c.input(into_zeros_ ? 0 : 1).shape();
    const int64_t depth = indices.rank() > 0 ? indices.dim_from_end(1) : 1;
    const int64_t tuples = depth > 0 ? indices.num_elements() / depth : 0;
    const int64_t slice = tuples > 0 ? c.input(into_zeros_ ? 1 : 2).num_elements() / tuples : 0;
    workspace_ = sort_scratch_bytes(tuples) + piece_bytes<T>(tuples, slice, combine_);
    return ok_status();
  }
  Workspace workspace() const override { return {workspace_}; }
  Status run(KernelContext& c) override {
    const Tensor &indices = c.input(into_zeros_ ? 0 : 1), &updates = c.input(into_zeros_ ? 1 : 2);
    Shape shape = c.input(0).shape();
    if (into_zeros_) {
      ASSIGN_OR_RETURN(shape, shape_of_values(c.input(2)));
    }
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, shape));
    Tensor& out = c.output(0);
    if (into_zeros_) {
      RETURN_IF_ERROR(enqueue_zeros(stream_of(c), out.dtype(), out.raw(), out.num_elements()));
    } else if (out.num_elements() > 0 && out.raw() != c.input(0).raw()) {
      const Mover::Axis all{out.num_elements(), 1, 1};
      RETURN_IF_ERROR(enqueue_copy(stream_of(c), out.dtype(), {&all, 1}, c.input(0).raw(), out.raw()));
    }
    ASSIGN_OR_RETURN(const NdIndex index, NdIndex::of_scatter(indices, shape));
    RETURN_IF_ERROR(check(index, indices, updates, shape));
    if (indices.num_elements() == 0 || updates.num_elements() == 0) return ok_status();
    ASSIGN_OR_RETURN(const Rows rows, rows_at(c, index, out.num_elements()));
    return combine_rows(c, rows, updates.data<T>(), c.out<T>(0), combine_);
  }

 private:
  static Status check(const NdIndex& index, const Tensor& indices, const Tensor& updates, const Shape& shape) {
    Shape wanted = index.outer;
    for (int i = index.depth; i < shape.rank(); ++i) wanted.add_dim(shape.dim(i));
    if (!(updates.shape() == wanted)) {
      return invalid_argument(cat("Outer dimensions of indices and update must match. Indices shape: ",
                                  indices.shape().to_string(), ", updates shape:", updates.shape().to_string()));
    }
    if (index.depth == 0 && shape.num_elements() > 0) {
      return invalid_argument(
          "Only indices.shape[-1] values between 1 and 5 are currently supported.  Requested rank: 0");
    }
    const bool no_indices = indices.num_elements() == 0, no_updates = updates.num_elements() == 0;
    if ((no_indices && no_updates) || (!no_indices && !no_updates && shape.num_elements() > 0)) return ok_status();
    return invalid_argument("Indices and updates specified for empty output shape");
  }

  bool into_zeros_;
  Combine combine_;
  int64_t workspace_ = 0;
};

/// ScatterAdd, ScatterSub, ScatterMul, ScatterUpdate and the Resource forms: rows of a variable.
template <class T>
class ScatterRows final : public Kernel {
 public:
  explicit ScatterRows(const KernelInit& init)
      : combine_(init.op.ends_with("ScatterUpdate") ? Combine::kAssign
                 : init.op.ends_with("ScatterSub")  ? Combine::kSubtract
                 : init.op.ends_with("ScatterMul")  ? Combine::kMultiply
                                                    : Combine::kAdd) {}
  /// The variable may not be known yet, how many rows of it change is.
  Status prepare(KernelContext& c) override {
    const int64_t indices = c.input(1).num_elements(), updates = c.input(2).num_elements();
    const int64_t slice = c.input(2).shape().rank() == 0 || indices == 0 ? 1 : updates / indices;
    workspace_ = sort_scratch_bytes(indices) + piece_bytes<T>(indices, slice, combine_);
    return ok_status();
  }
  Workspace workspace() const override { return {workspace_}; }
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    const Tensor &indices = c.input(1), &updates = c.input(2);
    std::lock_guard lock(v.mutex);
    if (!v.value.valid()) return is_ref(c.input(0).dtype()) ? uninitialized(v) : no_such_variable(v);
    if (v.dtype != updates.dtype()) return updates_of_other_type(v, updates.dtype());
    const Shape shape = v.value.shape();
    if (shape.rank() < 1) return invalid_argument("params must be at least 1-D, got shape []");
    Shape wanted = indices.shape();
    for (int i = 1; i < shape.rank(); ++i) wanted.add_dim(shape.dim(i));
    const bool scalar = updates.shape().rank() == 0;
    if (!scalar && !(updates.shape() == wanted)) {
      return invalid_argument(
          cat("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape ",
              updates.shape().to_string(), ", indices.shape ", indices.shape().to_string(), ", params.shape ",
              shape.to_string()));
    }
    RETURN_IF_ERROR(own_variable(c, v));
    if (v.value.num_elements() > 0 && indices.num_elements() > 0) {
      ASSIGN_OR_RETURN(Rows rows, rows_at(c, indices, shape.dim(0), v.value.num_elements() / shape.dim(0)));
      rows.one_value = scalar;
      RETURN_IF_ERROR(combine_rows(c, rows, updates.data<T>(), v.value.data<T>(), combine_));
    }
    if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  Combine combine_;
  int64_t workspace_ = 0;
};

Combine combination_of(std::string_view op);

/// ScatterNdAdd, Sub, Max, Min, Update and the Resource forms: slices of a variable.
template <class T>
class ScatterSlices final : public Kernel {
 public:
  explicit ScatterSlices(const KernelInit& init)
      : combine_(init.op.ends_with("Update") ? Combine::kAssign
                 : init.op.ends_with("Sub")  ? Combine::kSubtract
                                             : combination_of(init.op)) {}
  Status prepare(KernelContext& c) override {
    const Shape& indices = c.input(1).shape();
    const int64_t depth = indices.rank() > 1 ? indices.dim_from_end(1) : 1;
    const int64_t tuples = depth > 0 ? indices.num_elements() / depth : 0;
    const int64_t slice = tuples > 0 ? c.input(2).num_elements() / tuples : 0;
    workspace_ = sort_scratch_bytes(tuples) + piece_bytes<T>(tuples, slice, combine_);
    return ok_status();
  }
  Workspace workspace() const override { return {workspace_}; }
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    const Tensor &indices = c.input(1), &updates = c.input(2);
    std::lock_guard lock(v.mutex);
    if (!v.value.valid() && is_ref(c.input(0).dtype())) return uninitialized(v);
    ASSIGN_OR_RETURN(const NdIndex index, updated_slices(v, indices, updates));
    if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
    if (indices.num_elements() == 0 || updates.num_elements() == 0) return ok_status();
    RETURN_IF_ERROR(own_variable(c, v));
    ASSIGN_OR_RETURN(const Rows rows, rows_at(c, index, v.value.num_elements()));
    return combine_rows(c, rows, updates.data<T>(), v.value.data<T>(), combine_);
  }

 private:
  Combine combine_;
  int64_t workspace_ = 0;
};

Combine combination_of(std::string_view op) {
  if (op.ends_with("Mean")) return Combine::kMean;
  if (op.ends_with("Prod")) return Combine::kMultiply;
  if (op.ends_with("Max")) return Combine::kMaximum;
  return op.ends_with("Min") ? Combine::kMinimum : Combine::kAdd;
}

/// Segment* wait for the last id, which says how many rows the output has.
template <class T>
class Segment final : public Kernel {
 public:
  explicit Segment(const KernelInit& init)
      : sorted_(init.op.starts_with("Segment")), combine_(combination_of(init.op)) {}
  Status prepare(KernelContext& c) override {
    const int64_t ids = c.input(1).num_elements(), slice = ids > 0 ? c.input(0).num_elements() / ids : 0;
    workspace_ = sort_scratch_bytes(ids) + piece_bytes<T>(ids, slice, combine_);
    return ok_status();
  }
  Workspace workspace() const override { return {workspace_}; }
  Status run(KernelContext& c) override {
    const Tensor &data = c.input(0), &ids = c.input(1);
    ASSIGN_OR_RETURN(const Shape shape, sorted_ ? sorted_shape(c) : unsorted_shape(c));
    if (c.output(0).raw() == nullptr || !(c.output(0).shape() == shape)) RETURN_IF_ERROR(c.allocate_output(0, shape));
    Tensor& out = c.output(0);
    const int64_t n = out.num_elements();
    const T start = start_of<T>(combine_, sorted_);
    StreamMover mover(stream_of(c));
    mover.fill(out.dtype(), &start, out.raw(), n);
    RETURN_IF_ERROR(mover.status());
    if (n == 0 || data.num_elements() == 0) return ok_status();
    ASSIGN_OR_RETURN(const Rows rows, rows_at(c, ids, shape.dim(0), n / shape.dim(0)));
    return combine_rows(c, rows, data.data<T>(), c.out<T>(0), combine_, sorted_);
  }

 private:
  static Result<Shape> sorted_shape(const KernelContext& c) {
    const Tensor& ids = c.input(1);
    Shape shape = c.input(0).shape();
    if (shape.rank() < 1) return invalid_argument("data must be at least rank 1");
    const int64_t rows = shape.dim(0);
    if (ids.shape().rank() != 1 || ids.num_elements() != rows) {
      return invalid_argument("segment_ids should be the same size as dimension 0 of input.");
    }
    if (rows == 0) return shape;
    int64_t last = 0;
    if (ids.dtype() == DType::kInt64) {
      ASSIGN_OR_RETURN(last, read_back(c, ids.data<int64_t>() + rows - 1));
    } else {
      ASSIGN_OR_RETURN(const int32_t narrow_last, read_back(c, ids.data<int32_t>() + rows - 1));
      last = narrow_last;
    }
    if (last < 0) return invalid_argument("segment ids must be >= 0");
    ASSIGN_OR_RETURN(shape.dim(0), add_dims(last, 1));
    return shape;
  }
  static Result<Shape> unsorted_shape(const KernelContext& c) {
    const Shape &d = c.input(0).shape(), &s = c.input(1).shape();
    if (c.input(2).num_elements() != 1) {
      return invalid_argument(cat("num_segments should be a scalar, not shape ", c.input(2).shape().to_string()));
    }
    const int64_t segments = int_at(c.input(2), 0);
    if (segments < 0) return invalid_argument(cat("Input num_segments == ", segments, " must not be negative."));
    bool prefix = s.rank() <= d.rank();
    for (int i = 0; prefix && i < s.rank(); ++i) prefix = s.dim(i) == d.dim(i);
    if (!prefix)
      return invalid_argument(
          cat("data.shape = ", d.to_string(), " does not start with segment_ids.shape = ", s.to_string()));
    Shape shape{segments};
    for (int i = s.rank(); i < d.rank(); ++i) shape.add_dim(d.dim(i));
    return shape;
  }
  bool sorted_;
  Combine combine_;
  int64_t workspace_ = 0;
};

/// Places are checked for nothing: one out of range, out of order or repeated is no error here.
template <class E>
class SparseToDense final : public Kernel {
 public:
  explicit SparseToDense(const KernelInit&) {}
  Status prepare(KernelContext& c) override {
    const Shape& indices = c.input(0).shape();
    places_ = indices.rank() > 0 ? indices.dim(0) : 1;
    return ok_status();
  }
  Workspace workspace() const override { return {sort_scratch_bytes(places_)}; }
  Status run(KernelContext& c) override {
    const Tensor &indices = c.input(0), &values = c.input(2), &rest = c.input(3);
    const Shape& s = indices.shape();
    if (s.rank() > 2)
      return invalid_argument(cat("sparse_indices should be a scalar, vector, or matrix, got shape ", s.to_string()));
    ASSIGN_OR_RETURN(const Shape shape, shape_of_values(c.input(1)));
    const int64_t count = s.rank() > 0 ? s.dim(0) : 1, depth = s.rank() > 1 ? s.dim(1) : 1;
    if (shape.rank() != depth) {
      return invalid_argument(
          cat("output_shape has incorrect number of elements: ", shape.rank(), " should be: ", depth));
    }
    const bool one_value = values.shape().rank() == 0;
    if (!one_value && !(values.shape() == Shape{count})) {
      return invalid_argument(
          cat("sparse_values has incorrect shape ", values.shape().to_string(), ", should be [] or [", count, "]"));
    }
    if (rest.shape().rank() != 0) return invalid_argument("default_value should be a scalar.");
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, shape));
    Tensor& out = c.output(0);
    StreamMover mover(stream_of(c));
    mover.fill(out.dtype(), rest.raw(), out.raw(), out.num_elements());
    RETURN_IF_ERROR(mover.status());
    if (count == 0 || out.num_elements() == 0) return ok_status();
    const Tensor tuples = indices.reshaped(Shape{count, depth});
    ASSIGN_OR_RETURN(const NdIndex index, NdIndex::of(tuples, shape));
    ASSIGN_OR_RETURN(Rows rows, rows_at(c, index, out.num_elements()));
    rows.one_value = one_value;
    return combine_rows(c, rows, values.data<E>(), c.out<E>(0), Combine::kAssign);
  }

 private:
  int64_t places_ = 0;
};

}  // namespace

void add_scatter(KernelTable& table) {
  constexpr DTypeSet kHost{DType::kInt32}, kWide = kFloatDouble | kComplexes | DTypeSet{DType::kInt64};
  constexpr DTypeSet kAll = kNumbers.without(kHost);
  table.add("ScatterNd", kAll,
            by_input<1, ScatterNd, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t,
                     uint64_t, complex64, complex128>);
  for (auto op : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"}) {
    table.add(op, kWide, by_input<0, ScatterNd, float, double, int64_t, complex64, complex128>);
    table.add_host_code(op, kHost);
  }
  table.add("ScatterNdNonAliasingAdd", kAll,
            by_input<0, ScatterNd, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t,
                     uint64_t, complex64, complex128>);
  for (auto op : {"ScatterNd", "ScatterNdNonAliasingAdd"}) table.add_host_code(op, kHost);
  for (auto op : {"ScatterAdd", "ScatterSub", "ScatterMul", "ScatterUpdate"})
    table.add(op, kFloating, by_input<2, ScatterRows, float, double, half, bfloat16>);
  for (auto op : {"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterUpdate"}) {
    table.add(op, kRealNumbers,
              by_input<2, ScatterRows, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                       uint16_t, uint32_t, uint64_t>);
  }
  for (auto op : {"ResourceScatterNdAdd", "ResourceScatterNdSub", "ResourceScatterNdUpdate", "ScatterNdAdd",
                  "ScatterNdSub", "ScatterNdUpdate"})
    table.add(op, kAll,
              by_input<2, ScatterSlices, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t, complex64, complex128>);
  for (auto op : {"ResourceScatterNdMax", "ResourceScatterNdMin", "ScatterNdMax", "ScatterNdMin"})
    table.add(op, kRealNumbers.without(kHost),
              by_input<2, ScatterSlices, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t>);
  table.add("ResourceScatterUpdate", DTypeSet{DType::kBool},
            [](const KernelInit& init) { return make<ScatterRows<uint8_t>>(init); });
  for (auto op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    table.add_waiting(op, kFloating, by_input<0, Segment, float, double, half, bfloat16>);
  }
  for (auto op : {"UnsortedSegmentSum", "UnsortedSegmentProd"}) {
    table.add(op, kFloating | kComplexes | kHost,
              by_input<0, Segment, float, double, half, bfloat16, int32_t, complex64, complex128>);
  }
  for (auto op : {"UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    table.add(op, kFloating | kHost, by_input<0, Segment, float, double, half, bfloat16, int32_t>);
  }
  table.add("SparseToDense", kNumbersAndBool, sized_by_output<SparseToDense>);
}

}  // namespace emplace::cuda
