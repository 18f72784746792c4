// The tile kernels' code, included once by each of tile_baseline.cpp, tile_v3.cpp and tile_v4.cpp, which differ in
// compiler flags and in these two macros: EMPLACE_VECTOR_BYTES, EMPLACE_TILE_ROWS. Everything is in an anonymous
// namespace: a function compiled for AVX-512 must never be the one that the linker keeps for all.
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/ops/gemm/tile.h"

namespace emplace::gemm {
namespace {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(EMPLACE_VECTOR_BYTES)));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(EMPLACE_VECTOR_BYTES)));
};
template <>
struct VectorOf<uint32_t> {
  typedef uint32_t type __attribute__((vector_size(EMPLACE_VECTOR_BYTES)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = EMPLACE_VECTOR_BYTES / sizeof(T);
constexpr int kMaxRows = EMPLACE_TILE_ROWS;

template <class T>
inline __attribute__((always_inline)) Vector<T> load(const T* p) {
  Vector<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline __attribute__((always_inline)) void store(T* p, Vector<T> v) {
  std::memcpy(p, &v, sizeof v);
}

template <class T, int R, int V>
inline __attribute__((always_inline)) void store_tile(const TileArgs<T>& t, const Vector<T> (&acc)[R][V]) {
  constexpr int lanes = kLanes<T>;
  if (t.cols == lanes * V) {
    for (int i = 0; i < R; ++i) {
      T* c = t.c + i * t.c_step;
      for (int j = 0; j < V; ++j) store(c + j * lanes, t.accumulate ? load(c + j * lanes) + acc[i][j] : acc[i][j]);
    }
    return;
  }
  for (int i = 0; i < R; ++i) {
    T row[lanes * V];
    for (int j = 0; j < V; ++j) store(row + j * lanes, acc[i][j]);
    T* c = t.c + i * t.c_step;
    for (int j = 0; j < t.cols; ++j) c[j] = t.accumulate ? c[j] + row[j] : row[j];
  }
}

// Rows of a through one pointer each, elements of a row side by side.
template <class T, int R, int V>
void tile_pointers(const TileArgs<T>& t) {
  Vector<T> acc[R][V] = {};
  const T* b = t.b;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const T* a[R];
    for (int i = 0; i < R; ++i) a[i] = t.row_pointers[tap * t.row_pointer_stride + i];
    for (int64_t k = 0; k < t.depth; ++k) {
      Vector<T> bv[V];
      for (int j = 0; j < V; ++j) bv[j] = load(b + j * kLanes<T>);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        for (int j = 0; j < V; ++j) acc[i][j] += a[i][k] * bv[j];
      }
      b += t.b_step;
    }
  }
  store_tile<T, R, V>(t, acc);
}

// A column of a side by side: packed panels and transposed matrices.
template <class T, int R, int V>
void tile_columns(const TileArgs<T>& t) {
  Vector<T> acc[R][V] = {};
  const T *a = t.a, *b = t.b;
  for (int64_t k = 0; k < t.depth; ++k) {
    Vector<T> bv[V];
    for (int j = 0; j < V; ++j) bv[j] = load(b + j * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      for (int j = 0; j < V; ++j) acc[i][j] += a[i] * bv[j];
    }
    a += t.a_step;
    b += t.b_step;
  }
  store_tile<T, R, V>(t, acc);
}

template <class T>
using TileFunction = void (*)(const TileArgs<T>&);

template <class T, int V, bool kPointers, size_t... R>
constexpr TileFunction<T> tile_function(int rows, std::index_sequence<R...>) {
  constexpr TileFunction<T> table[] = {(kPointers ? &tile_pointers<T, R + 1, V> : &tile_columns<T, R + 1, V>)...};
  return table[rows - 1];
}

template <class T>
void tile(const TileArgs<T>& t) {
  using Rows = std::make_index_sequence<kMaxRows>;
  bool narrow = t.cols <= kLanes<T>;
  TileFunction<T> f = t.row_pointers ? (narrow ? tile_function<T, 1, true>(t.rows, Rows{}) : tile_function<T, 2, true>(t.rows, Rows{}))
                                     : (narrow ? tile_function<T, 1, false>(t.rows, Rows{}) : tile_function<T, 2, false>(t.rows, Rows{}));
  f(t);
}

// Eight rows of b at a time, so that y is read and written once for eight products.
template <class T>
void row_times_matrix(const RowArgs<T>& r) {
  constexpr int lanes = kLanes<T>;
  constexpr int kRows = 8;
  for (int64_t p = 0; p < r.k; p += kRows) {
    int64_t rows = r.k - p < kRows ? r.k - p : kRows;
    T x[kRows];
    const T* b[kRows];
    for (int64_t i = 0; i < kRows; ++i) {
      x[i] = i < rows ? r.x[(p + i) * r.x_step] : T(0);
      b[i] = r.b + (i < rows ? p + i : p) * r.b_step;
    }
    int64_t j = 0;
    if (rows == kRows) {
      for (; j + lanes <= r.n; j += lanes) {
        Vector<T> sum = load(b[0] + j) * x[0];
        for (int i = 1; i < kRows; ++i) sum += load(b[i] + j) * x[i];
        store(r.y + j, p ? load(r.y + j) + sum : sum);
      }
    }
    for (; j < r.n; ++j) {
      T sum = b[0][j] * x[0];
      for (int64_t i = 1; i < rows; ++i) sum += b[i][j] * x[i];
      r.y[j] = p ? r.y[j] + sum : sum;
    }
  }
}

template <class T>
T dot(const T* x, const T* y, int64_t n) {
  constexpr int lanes = kLanes<T>;
  Vector<T> sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    for (int j = 0; j < 4; ++j) sum[j] += load(x + i + j * lanes) * load(y + i + j * lanes);
  }
  Vector<T> total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  T result = 0;
  for (int j = 0; j < lanes; ++j) result += total[j];
  for (; i < n; ++i) result += x[i] * y[i];
  return result;
}

template <class T>
const Kernels<T>& table() {
  static constexpr Kernels<T> kTable = {kMaxRows, 2 * kLanes<T>, kLanes<T>, &tile<T>, &row_times_matrix<T>, &dot<T>};
  return kTable;
}

}  // namespace
}  // namespace emplace::gemm
