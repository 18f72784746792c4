// Rows put where indices say: ScatterNd, TensorScatter*, Scatter* into variables, Segment* and UnsortedSegment*,
// SparseToDense. Rows are sorted by where they go, and those that meet are combined in their order: the same bytes on
// every run. An index out of range counts for nothing.
#include <mutex>

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/state/variable_state.h"
#include "cuda/broadcast.h"
#include "cuda/moving.h"
#include "cuda/sort.h"
#include "cuda/tuples.h"

namespace emplace::cuda {
namespace {

enum class Combine {
  kAdd,
  kSubtract,
  kAssign,
  kMultiply,
  kMaximum,
  kMinimum,
  kMean
};  // of rows that are assigned, the last wins

/// A NaN gives way to the next number, as in TensorFlow.
template <class T>
EMPLACE_HD Wide<T> combined(Wide<T> all, Wide<T> next, Combine combine) {
  switch (combine) {
    case Combine::kAssign:
      return next;
    case Combine::kSubtract:
      return subtract(all, next);
    case Combine::kMultiply:
      return multiply(all, next);
    case Combine::kMaximum:
      if constexpr (!kIsComplex<T>) return all > next ? all : next;
      break;
    case Combine::kMinimum:
      if constexpr (!kIsComplex<T>) return all < next ? all : next;
      break;
    default:
      break;
  }
  return add(all, next);
}
template <class W>
EMPLACE_HD W as_divisor(int64_t rows) {
  if constexpr (kIsComplex<W>)
    return W(static_cast<decltype(W::re)>(rows));
  else
    return static_cast<W>(rows);
}
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

/// Rows of `updates`, to be combined into rows of an output.
struct Rows {
  Sorted sorted;
  int64_t count = 0, rows = 0, slice = 1;  // rows to put, rows there are, elements of a row
  bool one_value = false;                  // updates are one element for all
};

// Many rows for one place are combined in pieces of so many rows, these in pieces of so many pieces, and so on: nobody
// goes over all of them. Which rows a piece has is counted from the first of the run, so only the run decides.
constexpr int64_t kPiece = 64;

/// Where a piece begins, and the run that it is of. Pieces that begin among the same kPiece rows are two at most: the
/// last of a run, and the first of the next.
struct Piece {
  int64_t run, first;
  __device__ __forceinline__ static int64_t slot(int64_t first, bool of_run) { return first / kPiece * 2 + of_run; }
};
constexpr int64_t piece_slots(int64_t rows) { return (rows + kPiece - 1) / kPiece * 2; }

template <class T>
struct CombineWork {
  const uint64_t* keys;
  const int32_t* places;
  int64_t count, rows;
  IndexDivisor slice;
  const T* updates;
  bool one_value;
  T* out;
  Combine combine;
  bool starts_as_first;
  Piece* pieces = nullptr;     // by slot; first is negative where there is none
  Wide<T>* partial = nullptr;  // by slot and column; of one value one column

  __device__ __forceinline__ Wide<T> row(int64_t p, int64_t column) const {
    return widen(updates[one_value ? 0 : places[p] * slice.divisor + column]);
  }
  __device__ __forceinline__ bool in_run(int64_t p, uint64_t key) const { return p < count && keys[p] == key; }
  __device__ __forceinline__ Wide<T>& partial_at(int64_t slot, int64_t column) const {
    return partial[one_value ? slot : slot * slice.divisor + column];
  }
  /// Of pieces: what is subtracted one after the other is subtracted as a sum.
  __device__ __forceinline__ Wide<T> joined(Wide<T> all, Wide<T> next) const {
    return combined<T>(all, next, combine == Combine::kSubtract ? Combine::kAdd : combine);
  }
  __device__ __forceinline__ T* target(uint64_t key, int64_t column) const {
    return out + static_cast<int64_t>(key) * slice.divisor + column;
  }
  __device__ __forceinline__ void store(T* to, Wide<T> all, int64_t rows_of_run) const {
    if (combine == Combine::kMean) all = static_cast<Wide<T>>(all / as_divisor<Wide<T>>(rows_of_run));
    *to = narrow<T>(all);
  }
};

/// A thread combines one column of a run, or of a piece of one that is longer.
template <class T>
__global__ void combine_kernel(CombineWork<T> w, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t p = i;
    const int64_t column = w.slice.split(p);
    const uint64_t key = w.keys[p];
    if (key >= static_cast<uint64_t>(w.rows)) continue;
    T* const to = w.target(key, column);
    if (w.combine == Combine::kAssign) {
      if (!w.in_run(p + 1, key)) *to = narrow<T>(w.row(p, column));
      continue;
    }
    const bool head = p == 0 || w.keys[p - 1] != key;
    if (!head && (p < kPiece || w.keys[p - kPiece] != key)) continue;
    const int64_t run = head ? p : run_begin(w.keys, p);
    if ((p - run) % kPiece != 0) continue;
    const bool long_run = w.in_run(run + kPiece, key);
    int64_t q = p;
    Wide<T> all = long_run || w.starts_as_first ? w.row(q++, column) : widen(*to);
    if (long_run) {
      EMPLACE_ROLLED for (; q < p + kPiece && w.in_run(q, key); ++q) all = w.joined(all, w.row(q, column));
      const int64_t slot = Piece::slot(p, head);
      if (!w.one_value || column == 0) w.partial_at(slot, column) = all;
      if (column == 0) w.pieces[slot] = {run, p};
    } else {
      EMPLACE_ROLLED for (; w.in_run(q, key); ++q) all = combined<T>(all, w.row(q, column), w.combine);
      w.store(to, all, q - p);
    }
  }
}

/// kPiece pieces that begin `stride` pieces apart become one; who has the last of a run's finishes it.
template <class T>
__global__ void join_kernel(CombineWork<T> w, int64_t stride, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t slot = i;
    const int64_t column = w.slice.split(slot);
    const auto [run, first] = w.pieces[slot];
    if (first < 0) continue;
    const uint64_t key = w.keys[first];
    const int64_t number = (first - run) / kPiece, step = stride * kPiece;
    if (number % step != 0 || !w.in_run(run + step, key)) continue;  // no first of pieces, or joined already
    const bool last = number == 0 && !w.in_run(run + step * kPiece, key);
    if (!last && w.one_value && column > 0) continue;
    Wide<T> all = w.partial_at(slot, column);
    for (int64_t at = first + step; at < first + step * kPiece && w.in_run(at, key); at += step)
      all = w.joined(all, w.partial_at(Piece::slot(at, false), column));
    if (!last) {
      w.partial_at(slot, column) = all;
      continue;
    }
    T* const to = w.target(key, column);
    int64_t end = run + step, jump = step;  // behind the last row: by jumps that become shorter
    for (; jump > 0; jump /= 2) {
      while (w.in_run(end + jump - 1, key)) end += jump;
    }
    w.store(to, w.starts_as_first ? all : combined<T>(widen(*to), all, w.combine), end - run);
  }
}

bool in_pieces(int64_t rows, Combine combine) { return rows > kPiece && combine != Combine::kAssign; }
/// What combine_rows() takes for rows of so many elements.
template <class T>
int64_t piece_bytes(int64_t rows, int64_t elements, Combine combine) {
  if (!in_pieces(rows, combine)) return 0;
  const auto slots = piece_slots(rows);
  return scratch_bytes(slots * static_cast<int64_t>(sizeof(Piece)),
                       slots * elements * static_cast<int64_t>(sizeof(Wide<T>)));
}

template <class T>
Status combine_rows(KernelContext& c, const Rows& r, const T* updates, T* out, Combine combine,
                    bool starts_as_first = false) {
  const int64_t n = r.count * r.slice;
  CombineWork<T> work{r.sorted.key(), r.sorted.place(), r.count, r.rows,  IndexDivisor(r.slice, n),
                      updates,        r.one_value,      out,     combine, starts_as_first};
  Tensor pieces, partial;
  const int64_t slots = piece_slots(r.count);
  const bool cut = in_pieces(r.count, combine);
  if (cut) {
    const int64_t elements = slots * (r.one_value ? 1 : r.slice);
    ASSIGN_OR_RETURN(pieces, c.allocate_scratch(DType::kUInt8, Shape{slots * static_cast<int64_t>(sizeof(Piece))}));
    ASSIGN_OR_RETURN(partial,
                     c.allocate_scratch(DType::kUInt8, Shape{elements * static_cast<int64_t>(sizeof(Wide<T>))}));
    CUDA_TRY(cudaMemsetAsync(pieces.raw(), 0xff, pieces.size_bytes(), stream_of(c)));
    work.pieces = static_cast<Piece*>(pieces.raw());
    work.partial = static_cast<Wide<T>*>(partial.raw());
  }
  RETURN_IF_ERROR(launch(Barriers::kNone, combine_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), work, n));
  for (int64_t stride = 1; cut && stride * kPiece < r.count; stride *= kPiece) {
    RETURN_IF_ERROR(launch(Barriers::kNone, join_kernel<T>, grid_for(slots * r.slice), kThreads, 0, stream_of(c), work,
                           stride, slots * r.slice));
  }
  return ok_status();
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

/// ScatterNd (into zeros) and TensorScatter* (into a copy of input 0).
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

/// ScatterAdd, ScatterSub, ScatterUpdate and the Resource forms: rows of a variable.
template <class T>
class ScatterRows final : public Kernel {
 public:
  explicit ScatterRows(const KernelInit& init)
      : combine_(init.op.ends_with("ScatterUpdate") ? Combine::kAssign
                 : init.op.ends_with("ScatterSub")  ? Combine::kSubtract
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
    if (v.dtype != updates.dtype()) {
      return invalid_argument(cat("Trying to update variable ", v.name, " of type ", dtype_tf_name(v.dtype), " with ",
                                  dtype_tf_name(updates.dtype())));
    }
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
  table.add_host_code("ScatterNd", kHost);
  for (auto op : {"ScatterAdd", "ScatterSub", "ScatterUpdate"})
    table.add(op, kFloating, by_input<2, ScatterRows, float, double, half, bfloat16>);
  for (auto op : {"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate"}) {
    table.add(op, kRealNumbers,
              by_input<2, ScatterRows, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                       uint16_t, uint32_t, uint64_t>);
  }
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
