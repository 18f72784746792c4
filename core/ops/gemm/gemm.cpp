#include "core/ops/gemm/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/base/cat.h"
#include "core/base/kept_by_thread.h"
#include "core/base/units.h"
#include "core/ops/gemm/ahead.h"
#include "core/ops/gemm/processors.h"

namespace emplace::gemm {
namespace {

// A panel of b of this depth (two vectors wide) fits in L1 and L2 beside the rows of a.
constexpr int64_t kDepth = 512;
// Row tiles whose packed rows stay in L2 while the panels of b pass by.
constexpr int64_t kRowTilesPerBlock = 8;
// Columns of a that are packed at a time: what they become stays in L1 while row after row is added.
constexpr int64_t kPackDepth = 64;
constexpr int kMaxTileRows = 16;
constexpr int64_t kFewRowTiles = 3;

double product_ns(int64_t products) { return static_cast<double>(products) * 0.02; }

// Four rows of four elements become four columns.
template <class T>
void turn_square(const T* in, int64_t in_step, T* out, int64_t out_step) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  Four r[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&r[i], in + i * in_step, sizeof r[i]);
  const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const Four c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  const Four columns[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                           __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(out + i * out_step, &columns[i], sizeof columns[i]);
}

// out[k, i] = in[i, k], for `rows` rows of `count` elements.
template <class T>
void turn(const T* in, int64_t in_step, int rows, int64_t count, T* out, int64_t out_step) {
  int i = 0;
  for (; i + 4 <= rows; i += 4) {
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) turn_square(in + i * in_step + k, in_step, out + k * out_step + i, out_step);
    for (; k < count; ++k) {
      for (int j = i; j < i + 4; ++j) out[k * out_step + j] = in[j * in_step + k];
    }
  }
  for (; i < rows; ++i) {
    for (int64_t k = 0; k < count; ++k) out[k * out_step + i] = in[i * in_step + k];
  }
}

// out[0, n) = in[0, n), without a call: of an n of 4 or more, by fours, the last of which may overlap the one before.
template <class T>
void copy_few(const T* in, int n, T* out) {
  constexpr size_t kBytes = 4 * sizeof(T);
  int i = 0;
  for (; i + 4 <= n; i += 4) std::memcpy(out + i, in + i, kBytes);
  if (i == n) return;
  if (n >= 4) return static_cast<void>(std::memcpy(out + n - 4, in + n - 4, kBytes));
  for (; i < n; ++i) out[i] = in[i];
}

template <class T>
std::vector<T>& worker_buffer() {
  static constinit thread_local KeptByThread<std::vector<T>> buffer;
  return buffer.get();
}

}  // namespace

template <class T>
Gemm<T>::Gemm(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b)
    : m_(m), n_(n), k_(k), transpose_a_(transpose_a), transpose_b_(transpose_b) {
  const Kernels<T>& kernel = kernels<T>();
  const Processor& p = processor();
  // As many rows as a tile can have, then equally many in every tile: 32 rows are 11 + 11 + 10, not 14 + 14 + 4.
  row_tiles_ = (m + kernel.max_rows - 1) / kernel.max_rows;
  rows_ = static_cast<int>(row_tiles_ > 0 ? (m + row_tiles_ - 1) / row_tiles_ : 1);
  cols_ = kernel.max_cols;
  panels_ = (n + cols_ - 1) / cols_;
  depth_ = k > 0 ? (k + (k + kDepth - 1) / kDepth - 1) / ((k + kDepth - 1) / kDepth) : 0;
  auto bytes = static_cast<int64_t>(sizeof(T));
  pack_b_ = transpose_b || n % kWidestVector<T> != 0 || k * n * bytes > p.small_bytes;
  // Few tiles of rows read it no more often than it would be copied.
  passes_b_once_ = pack_b_ && !transpose_b && n % kWidestVector<T> == 0 && m > 1 && row_tiles_ <= kFewRowTiles &&
                   k * n * bytes <= p.near_bytes;
  looks_ahead_ = pack_b_ && (m * k + k * n + m * n) * bytes > p.near_bytes;
  pack_a_ = transpose_a ? n > 2 * cols_ : k * bytes % p.conflict_stride == 0;
  if (m == 0 || n == 0) {
    way_ = Way::kNothing;
  } else if (k == 0) {
    way_ = Way::kZero;
  } else if (m == 1) {
    way_ = transpose_b ? Way::kDots : Way::kRow;
  } else if (n == 1) {
    way_ = transpose_a ? Way::kColumnTransposed : Way::kColumn;
  } else {
    way_ = Way::kTiles;
  }
}

template <class T>
std::string Gemm<T>::describe() const {
  switch (way_) {
    case Way::kNothing:
    case Way::kZero:
      return "nothing to multiply";
    case Way::kRow:
    case Way::kColumnTransposed:
      return cat("a vector times a matrix that is read once, in order (", isa_name(isa()), ")");
    case Way::kDots:
    case Way::kColumn:
      return cat("a dot product for each row of the matrix (", isa_name(isa()), ")");
    case Way::kTiles:
      break;
  }
  const int64_t bytes = k_ * n_ * static_cast<int64_t>(sizeof(T));
  const std::string tile = cat(rows_, " x ", cols_, " tiles (", isa_name(isa()), "), by ",
                               by_rows() ? "rows" : "columns", "; b, ", size_text(bytes), ", ");
  const std::string_view a = pack_a_ ? "; rows of a are packed: they would meet in few sets of L1" : "";
  if (!pack_b_) return cat(tile, "is read as it lies: it stays in L1", a);
  return cat(tile, "is packed into panels of ", cols_, " columns",
             looks_ahead_ ? ", asked for ahead: the product does not stay in the second level of cache" : "",
             passes_b_once_ ? ", but for one that is no constant: few rows of a read it" : "", a);
}

template <class T>
int64_t Gemm<T>::packed_b_size() const {
  return way_ == Way::kTiles && pack_b_ ? (n_ + kWidestCols<T> - 1) / kWidestCols<T> * kWidestCols<T> * k_ : 0;
}

template <class T>
void Gemm<T>::pack_b(Parallel& parallel, const T* b, T* packed) const {
  // Panel by panel; in a panel row by row, so that every depth block of a panel is contiguous too. A constant b may lie
  // at any address (core/op/loose_inputs.h).
  parallel.run(panels_, static_cast<double>(k_ * cols_) * 0.2, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      int64_t first = panel * cols_, width = std::min<int64_t>(cols_, n_ - first);
      T* out = packed + panel * cols_ * k_;
      if (transpose_b_ && reinterpret_cast<uintptr_t>(b) % alignof(T) == 0) {
        turn(b + first * k_, k_, static_cast<int>(width), k_, out, cols_);
        for (int64_t k = 0; width < cols_ && k < k_; ++k)
          std::fill(out + k * cols_ + width, out + (k + 1) * cols_, T(0));
        continue;
      }
      for (int64_t k = 0; k < k_; ++k, out += cols_) {
        if (transpose_b_) {
          for (int64_t j = 0; j < width; ++j) std::memcpy(out + j, b + (first + j) * k_ + k, sizeof(T));
        } else {
          std::memcpy(out, b + k * n_ + first, static_cast<size_t>(width) * sizeof(T));
        }
        std::fill(out + width, out + cols_, T(0));
      }
    }
  });
}

// Rows [row, row + rows) and [k_begin, k_begin + depth) of a, one column after the other.
template <class T>
const T* Gemm<T>::pack_rows(const T* a, int64_t row, int rows, int64_t k_begin, int64_t depth, T* out) const {
  if (transpose_a_) {
    for (int64_t k = 0; k < depth; ++k) copy_few(a + (k_begin + k) * m_ + row, rows, out + k * rows);
  } else {
    for (int64_t first = 0; first < depth; first += kPackDepth) {
      const int64_t count = std::min(kPackDepth, depth - first);
      turn(a + row * k_ + k_begin + first, k_, rows, count, out + first * rows, rows);
    }
  }
  return out;
}

// Of tile `i` of `count` that a panel passes by: its part of the next panel, and the rows of c that the next tile
// writes.
template <class T>
void Gemm<T>::look_ahead(TileArgs<T>& t, const T* packed_b, int64_t k, int64_t panel, int64_t panel_end, int64_t i,
                         int64_t count) const {
  const bool last = i + 1 == count;
  t.ahead[0] = {};
  t.next_c = nullptr;
  if (last && panel + 1 == panel_end) return;
  t.next_c = last ? t.c - i * rows_ * n_ + cols_ : t.c + rows_ * n_;
  if (panel + 1 == panel_end || count == 1)
    return;  // a tile alone takes b as a stream, which the processor sees by itself
  const T* panel_after = packed_b + ((panel + 1) * k_ + k) * cols_;
  t.ahead[0] = after(ahead_of(panel_after, t.depth * cols_, count * t.depth), i * t.depth);
}

template <class T>
void Gemm<T>::run_tiles(const T* a, const T* b, const T* packed_b, T* c, int64_t row_tile_begin, int64_t row_tile_end,
                        int64_t panel_begin, int64_t panel_end, const Behind& behind) const {
  if (!pack_b_) packed_b = nullptr;
  const Kernels<T>& kernel = kernels<T>();
  std::vector<T>& packed_a = worker_buffer<T>();
  if (pack_a_) packed_a.resize(static_cast<size_t>(kRowTilesPerBlock * rows_ * depth_));
  std::array<const T*, kMaxTileRows> pointers;
  TileArgs<T> t{};
  t.taps = 1;
  if (!pack_a_ && !transpose_a_) {
    t.row_pointers = pointers.data();
    t.a_row_step = k_;
  }
  for (int64_t block = row_tile_begin; block < row_tile_end; block += kRowTilesPerBlock) {
    int64_t block_end = std::min(block + kRowTilesPerBlock, row_tile_end);
    for (int64_t k = 0; k < k_; k += depth_) {
      int64_t depth = std::min(depth_, k_ - k);
      if (pack_a_) {
        for (int64_t tile = block; tile < block_end; ++tile) {
          int rows = static_cast<int>(std::min<int64_t>(rows_, m_ - tile * rows_));
          pack_rows(a, tile * rows_, rows, k, depth, packed_a.data() + (tile - block) * rows_ * depth_);
        }
      }
      for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
        for (int64_t tile = block; tile < block_end; ++tile) {
          int64_t row = tile * rows_;
          t.rows = static_cast<int>(std::min<int64_t>(rows_, m_ - row));
          t.cols = static_cast<int>(std::min<int64_t>(cols_, n_ - panel * cols_));
          t.depth = depth;
          if (pack_a_) {
            t.a = packed_a.data() + (tile - block) * rows_ * depth_;
            t.a_step = t.rows;
          } else if (transpose_a_) {
            t.a = a + k * m_ + row;
            t.a_step = m_;
          } else {
            for (int i = 0; i < t.rows; ++i) pointers[static_cast<size_t>(i)] = a + (row + i) * k_ + k;
          }
          t.b = packed_b ? packed_b + (panel * k_ + k) * cols_ : b + k * n_ + panel * cols_;
          t.b_step = packed_b ? cols_ : n_;
          t.c = c + row * n_ + panel * cols_;
          t.c_step = n_;
          t.accumulate = k > 0;
          if (looks_ahead_ && packed_b) look_ahead(t, packed_b, k, panel, panel_end, tile - block, block_end - block);
          kernel.tile(t);
          if (behind.steps && k + depth == k_) behind.steps.run(t.c, t.rows, t.cols, n_, panel * cols_);
        }
      }
    }
    if (behind.sink) behind.sink->finished(block * rows_, std::min(block_end * rows_, m_) - block * rows_);
  }
}

template <class T>
void Gemm<T>::run(Parallel& parallel, const T* a, const T* b, const T* packed_b, T* c, RowSink* sink) const {
  Behind behind;
  if (sink && way_ == Way::kTiles && n_ >= kEnoughForSteps) behind.steps = StepsOfProduct<T>(sink, c);
  const bool told = way_ == Way::kTiles && by_rows();
  if (told) behind.sink = sink;
  multiply(parallel, a, b, packed_b, c, behind);
  if (!sink || told || m_ * n_ == 0) return;
  parallel.run(m_, static_cast<double>(n_) * 0.1,
               [&](int64_t begin, int64_t end) { sink->finished(begin, end - begin); });
}

template <class T>
void Gemm<T>::multiply(Parallel& parallel, const T* a, const T* b, const T* packed_b, T* c,
                       const Behind& behind) const {
  const Kernels<T>& kernel = kernels<T>();
  auto rows_times = [&](const T* x, const T* matrix, int64_t n) {
    // Few pieces with long rows: memory is read in order. 4096 x 4096 in pieces of 256 columns: 16 GB/s, of 2048: 25.
    const int64_t unit = (std::max({int64_t{256}, n / 4, std::min<int64_t>(n / 2, 2048)}) + 255) / 256 * 256;
    const bool asks_ahead = n * k_ * static_cast<int64_t>(sizeof(T)) > processor().cached_bytes;
    parallel.run((n + unit - 1) / unit, product_ns(unit * k_) * 4, [&](int64_t begin, int64_t end) {
      int64_t first = begin * unit, last = std::min(end * unit, n);
      kernel.row_times_matrix({last - first, k_, x, 1, matrix + first, n, c + first, asks_ahead});
    });
  };
  auto dots = [&](const T* x, const T* matrix, int64_t n) {
    parallel.run(n, product_ns(k_) * 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) c[i] = kernel.dot(x, matrix + i * k_, k_);
    });
  };
  switch (way_) {
    case Way::kNothing:
      return;
    case Way::kZero:
      std::fill_n(c, m_ * n_, T(0));
      return;
    case Way::kRow:
      return rows_times(a, b, n_);
    case Way::kDots:
      return dots(a, b, n_);
    case Way::kColumn:
      return dots(b, a, m_);
    case Way::kColumnTransposed:
      return rows_times(b, a, m_);
    case Way::kTiles:
      break;
  }
  if (by_rows()) {
    parallel.run(row_tiles_, product_ns(rows_ * n_ * k_),
                 [&](int64_t begin, int64_t end) { run_tiles(a, b, packed_b, c, begin, end, 0, panels_, behind); });
  } else {
    parallel.run(panels_, product_ns(m_ * cols_ * k_),
                 [&](int64_t begin, int64_t end) { run_tiles(a, b, packed_b, c, 0, row_tiles_, begin, end, behind); });
  }
}

template class Gemm<float>;
template class Gemm<double>;
template class Gemm<uint32_t>;

}  // namespace emplace::gemm
