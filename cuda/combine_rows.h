/// Rows put where indices say, sorted by where they go: those that meet are combined in their order, many of them in
/// pieces, so that nobody goes over all. The same bytes on every run.
#pragma once

#include "cuda/broadcast.h"
#include "cuda/moving.h"
#include "cuda/sort.h"
#include "cuda/typed.h"

namespace emplace::cuda {

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
/// Rows of `updates`, to be combined into rows of an output.
struct Rows {
  Sorted sorted;
  int64_t count = 0, rows = 0, slice = 1;  // rows to put, rows there are, elements of a row
  bool one_value = false;                  // updates are one element for all
};

// Many rows for one place are combined in pieces of so many rows, these in pieces of so many pieces, and so on: nobody
// goes over all of them. Which rows a piece has is counted from the first of the run, so only the run decides.
constexpr int64_t kPieceRows = 64;

/// Where a piece begins, and the run that it is of. Pieces that begin among the same kPieceRows rows are two at most:
/// the last of a run, and the first of the next.
struct Piece {
  int64_t run, first;
  __device__ __forceinline__ static int64_t slot(int64_t first, bool of_run) { return first / kPieceRows * 2 + of_run; }
};
constexpr int64_t piece_slots(int64_t rows) { return (rows + kPieceRows - 1) / kPieceRows * 2; }

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
    if (!head && (p < kPieceRows || w.keys[p - kPieceRows] != key)) continue;
    const int64_t run = head ? p : run_begin(w.keys, p);
    if ((p - run) % kPieceRows != 0) continue;
    const bool long_run = w.in_run(run + kPieceRows, key);
    int64_t q = p;
    Wide<T> all = long_run || w.starts_as_first ? w.row(q++, column) : widen(*to);
    if (long_run) {
      EMPLACE_ROLLED for (; q < p + kPieceRows && w.in_run(q, key); ++q) all = w.joined(all, w.row(q, column));
      const int64_t slot = Piece::slot(p, head);
      if (!w.one_value || column == 0) w.partial_at(slot, column) = all;
      if (column == 0) w.pieces[slot] = {run, p};
    } else {
      EMPLACE_ROLLED for (; w.in_run(q, key); ++q) all = combined<T>(all, w.row(q, column), w.combine);
      w.store(to, all, q - p);
    }
  }
}

/// kPieceRows pieces that begin `stride` pieces apart become one; who has the last of a run's finishes it.
template <class T>
__global__ void join_kernel(CombineWork<T> w, int64_t stride, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t slot = i;
    const int64_t column = w.slice.split(slot);
    const auto [run, first] = w.pieces[slot];
    if (first < 0) continue;
    const uint64_t key = w.keys[first];
    const int64_t number = (first - run) / kPieceRows, step = stride * kPieceRows;
    if (number % step != 0 || !w.in_run(run + step, key)) continue;  // no first of pieces, or joined already
    const bool last = number == 0 && !w.in_run(run + step * kPieceRows, key);
    if (!last && w.one_value && column > 0) continue;
    Wide<T> all = w.partial_at(slot, column);
    for (int64_t at = first + step; at < first + step * kPieceRows && w.in_run(at, key); at += step)
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

inline bool in_pieces(int64_t rows, Combine combine) { return rows > kPieceRows && combine != Combine::kAssign; }
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
  for (int64_t stride = 1; cut && stride * kPieceRows < r.count; stride *= kPieceRows) {
    RETURN_IF_ERROR(launch(Barriers::kNone, join_kernel<T>, grid_for(slots * r.slice), kThreads, 0, stream_of(c), work,
                           stride, slots * r.slice));
  }
  return ok_status();
}

}  // namespace emplace::cuda
