// The tile kernels' code, included once by each of tile_baseline.cpp, tile_v3.cpp and tile_v4.cpp, which differ in
// compiler flags and in this macro: EMPLACE_TILE. Everything is in an anonymous namespace: a function compiled for
// AVX-512 must never be the one that the linker keeps for all.
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/ops/gemm/processors.h"
#include "core/ops/gemm/tile.h"

namespace emplace::gemm {
namespace {

constexpr int kVectorBytes = EMPLACE_TILE.vector_bytes;

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct VectorOf<uint32_t> {
  typedef uint32_t type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);
// Floats have tiles of all rows that the registers hold. Eight keep the processor as busy, and read b more often:
// enough for types that models hardly multiply in, at a third of the code.
template <class T>
constexpr int kMaxRows = std::is_same_v<T, float> || EMPLACE_TILE.rows < 8 ? EMPLACE_TILE.rows : 8;

template <class T>
inline __attribute__((always_inline)) Vector<T> load(const T* p) {
  Vector<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
// One element, at any address as well.
template <class T>
inline __attribute__((always_inline)) T load_one(const T* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline __attribute__((always_inline)) void store(T* p, Vector<T> v) {
  std::memcpy(p, &v, sizeof v);
}

// A tile's sums. Every loop over them is unrolled, so that they live in registers from the first product to the store.
template <class T, int R, int V>
struct Sums {
  Vector<T> at[R][V];

  inline __attribute__((always_inline)) void clear() {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) at[i][j] = Vector<T>{};
    }
  }

  // The products of one row of b with one element of a per row: element(i).
  template <class Element>
  inline __attribute__((always_inline)) void add(const T* b, const Element& element) {
    Vector<T> row[V];
#pragma GCC unroll 2
    for (int j = 0; j < V; ++j) row[j] = load(b + j * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) at[i][j] += element(i) * row[j];
    }
  }

  inline __attribute__((always_inline)) void store_rows(T* c, int64_t step) const {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) store(c + i * step + j * kLanes<T>, at[i][j]);
    }
  }

  inline __attribute__((always_inline)) void add_rows(const T* c, int64_t step) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) at[i][j] = load(c + i * step + j * kLanes<T>) + at[i][j];
    }
  }

  inline __attribute__((always_inline)) void finish(const TileArgs<T>& t) {
    constexpr int64_t width = kLanes<T> * V;
    if (t.cols == width) {
      if (t.accumulate) add_rows(t.c, t.c_step);
      return store_rows(t.c, t.c_step);
    }
    T rows[R * width];
    store_rows(rows, width);
    for (int i = 0; i < R; ++i) {
      T* c = t.c + i * t.c_step;
      for (int j = 0; t.accumulate && j < t.cols; ++j) rows[i * width + j] = c[j] + rows[i * width + j];
      copy_few<width / 2>(rows + i * width, t.cols, c);
    }
  }

  // `n` < 2 * kMost elements, in pieces of fixed size.
  template <int kMost>
  static inline __attribute__((always_inline)) void copy_few(const T* from, int n, T* to) {
    if (n & kMost) {
      std::memcpy(to, from, kMost * sizeof(T));
      from += kMost;
      to += kMost;
    }
    if constexpr (kMost > 1) copy_few<kMost / 2>(from, n, to);
  }
};

// Asks for what the next tiles want, without a branch: one that is not foreseen costs as much as several products.
template <class T>
class AskAhead {
 public:
  explicit AskAhead(const TileArgs<T>& t) : next_c_(t.next_c), c_step_(t.c_step) {
    for (int i = 0; i < 2; ++i) {
      at_[i] = t.ahead[i].at ? t.ahead[i].at : reinterpret_cast<const char*>(t.b);
      step_[i] = t.ahead[i].step;
    }
  }
  inline __attribute__((always_inline)) void ask() {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      __builtin_prefetch(at_[i]);
      at_[i] += step_[i];
    }
  }
  // A row of what the next tile writes.
  inline __attribute__((always_inline)) void ask_row() {
    constexpr int kLine = 64;
    __builtin_prefetch(next_c_, 1);
    if constexpr (2 * kVectorBytes > kLine) __builtin_prefetch(next_c_ + kLine / sizeof(T), 1);
    next_c_ += c_step_;
  }

 private:
  const char* at_[2];
  int64_t step_[2];
  const T* next_c_;
  int64_t c_step_;
};

// Calls product(k) for all k < depth. `rows` rows of the next tile are asked for beside the first of them.
template <bool kAhead, class T, class Product>
inline __attribute__((always_inline)) void for_depth(int64_t depth, int64_t rows, AskAhead<T>& ahead,
                                                     const Product& product) {
  int64_t k = 0;
  if constexpr (kAhead) {
    for (; k < rows && k < depth; ++k) {
      ahead.ask_row();
      product(k);
    }
    for (; k < depth; ++k) {
      ahead.ask();
      product(k);
    }
  } else {
    for (; k < depth; ++k) product(k);
  }
}

// Rows of a through one pointer each, elements of a row side by side.
template <class T, int R, int V, bool kAhead>
void tile_pointers(const TileArgs<T>& t) {
  Sums<T, R, V> sums;
  sums.clear();
  AskAhead<T> ahead(t);
  const T* b = t.b;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const T* a[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) a[i] = t.row_pointers[tap * t.row_pointer_stride + i];
    if (t.b_offsets) b = t.b + t.b_offsets[tap];
    for_depth<kAhead>(
        t.depth, tap == 0 ? R : 0, ahead, [&](int64_t k) __attribute__((always_inline)) {
          sums.add(b, [&](int i) { return a[i][k]; });
          b += t.b_step;
        });
  }
  sums.finish(t);
}

// Rows of a that lie equally far from each other: four of them need but one pointer that moves.
template <class T, int R, int V, bool kAhead>
void tile_spaced(const TileArgs<T>& t) {
  Sums<T, R, V> sums;
  sums.clear();
  AskAhead<T> ahead(t);
  const T* b = t.b;
  constexpr int kBases = (R + 3) / 4;
  const int64_t step = t.a_row_step * static_cast<int64_t>(sizeof(T)), step3 = 3 * step;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const char* a[kBases];
#pragma GCC unroll 4
    for (int i = 0; i < kBases; ++i)
      a[i] = reinterpret_cast<const char*>(t.row_pointers[tap * t.row_pointer_stride]) + i * 4 * step;
    if (t.b_offsets) b = t.b + t.b_offsets[tap];
    for_depth<kAhead>(
        t.depth, tap == 0 ? R : 0, ahead, [&](int64_t) __attribute__((always_inline)) {
          sums.add(b, [&](int i) {
            const char* at = a[i / 4];
            return *reinterpret_cast<const T*>(i % 4 == 0   ? at
                                               : i % 4 == 1 ? at + step
                                               : i % 4 == 2 ? at + 2 * step
                                                            : at + step3);
          });
          b += t.b_step;
#pragma GCC unroll 4
          for (int i = 0; i < kBases; ++i) a[i] += sizeof(T);
        });
  }
  sums.finish(t);
}

// A column of a side by side: packed panels and transposed matrices.
template <class T, int R, int V, bool kAhead>
void tile_columns(const TileArgs<T>& t) {
  Sums<T, R, V> sums;
  sums.clear();
  AskAhead<T> ahead(t);
  const T* b = t.b;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const T* a = t.a_offsets ? t.a + t.a_offsets[tap] : t.a;
    if (t.b_offsets) b = t.b + t.b_offsets[tap];
    for_depth<kAhead>(
        t.depth, tap == 0 ? R : 0, ahead, [&](int64_t) __attribute__((always_inline)) {
          sums.add(b, [&](int i) { return a[i]; });
          a += t.a_step, b += t.b_step;
        });
  }
  sums.finish(t);
}

template <class T>
using TileFunction = void (*)(const TileArgs<T>&);

enum class Rows : uint8_t { kPointers, kSpaced, kColumns };

template <class T, int R, int V, bool kAhead, Rows kRows>
constexpr TileFunction<T> one_tile() {
  if constexpr (kRows == Rows::kPointers) return &tile_pointers<T, R, V, kAhead>;
  if constexpr (kRows == Rows::kSpaced) return &tile_spaced<T, R, V, kAhead>;
  if constexpr (kRows == Rows::kColumns) return &tile_columns<T, R, V, kAhead>;
}

// For tiles of more than kFewer rows.
template <class T, int V, Rows kRows, bool kAhead, class Numbers, int kFewer = 0>
struct TileFunctions;
template <class T, int V, Rows kRows, bool kAhead, size_t... R, int kFewer>
struct TileFunctions<T, V, kRows, kAhead, std::index_sequence<R...>, kFewer> {
  static constexpr TileFunction<T> kOf[] = {one_tile<T, kFewer + R + 1, V, kAhead, kRows>()...};
};

// By rows. Asking ahead is worth its code only in what models spend their time on: floats, in tiles of full width and
// of more than half the rows (equal tiles have so many). Elsewhere what is ahead is left to come when it is read.
template <class T, Rows kRows>
TileFunction<T> tile_function(int rows, bool narrow, bool ahead) {
  using All = std::make_index_sequence<kMaxRows<T>>;
  if (narrow) return TileFunctions<T, 1, kRows, false, All>::kOf[rows - 1];
  if constexpr (std::is_same_v<T, float>) {
    using Most = std::make_index_sequence<kMaxRows<T> - kMaxRows<T> / 2>;
    if (ahead && rows > kMaxRows<T> / 2)
      return TileFunctions<T, 2, kRows, true, Most, kMaxRows<T> / 2>::kOf[rows - 1 - kMaxRows<T> / 2];
  }
  return TileFunctions<T, 2, kRows, false, All>::kOf[rows - 1];
}

template <class T>
void tile(const TileArgs<T>& t) {
  const bool narrow = t.cols <= kLanes<T>, ahead = t.next_c != nullptr;
  if (!t.row_pointers) return tile_function<T, Rows::kColumns>(t.rows, narrow, ahead)(t);
  if constexpr (std::is_same_v<T, float>) {
    if (t.a_row_step > 0) return tile_function<T, Rows::kSpaced>(t.rows, narrow, ahead)(t);
  }
  tile_function<T, Rows::kPointers>(t.rows, narrow, ahead)(t);
}

// Eight rows of b at a time, so that y is read and written once for eight products.
template <class T>
void row_times_matrix(const RowArgs<T>& r) {
  constexpr int lanes = kLanes<T>;
  constexpr int kRows = 8, kRowsAhead = 16;  // 4096 x 4096 floats on Zen 4: 26 GB/s, asking for 8 ahead 29, for 16 32
  for (int64_t p = 0; p < r.k; p += kRows) {
    int64_t rows = r.k - p < kRows ? r.k - p : kRows;
    T x[kRows];
    const T* b[kRows];
    for (int64_t i = 0; i < kRows; ++i) {
      x[i] = i < rows ? load_one(r.x + (p + i) * r.x_step) : T(0);
      b[i] = r.b + (i < rows ? p + i : p) * r.b_step;
    }
    int64_t j = 0;
    if (rows == kRows) {
      for (; j + lanes <= r.n; j += lanes) {
        if (r.asks_ahead) {  // into the second cache: a processor by itself looks to the end of a page
          for (int i = 0; i < kRows; ++i) __builtin_prefetch(b[i] + j + kRowsAhead * r.b_step, 0, 2);
        }
        Vector<T> sum = load(b[0] + j) * x[0];
        for (int i = 1; i < kRows; ++i) sum += load(b[i] + j) * x[i];
        store(r.y + j, p ? load(r.y + j) + sum : sum);
      }
    }
    for (; j < r.n; ++j) {
      T sum = load_one(b[0] + j) * x[0];
      for (int64_t i = 1; i < rows; ++i) sum += load_one(b[i] + j) * x[i];
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
  for (; i < n; ++i) result += load_one(x + i) * load_one(y + i);
  return result;
}

template <class T>
const Kernels<T>& table() {
  static constexpr Kernels<T> kTable = {kMaxRows<T>, 2 * kLanes<T>, kLanes<T>, &tile<T>, &row_times_matrix<T>, &dot<T>};
  return kTable;
}

}  // namespace
}  // namespace emplace::gemm
