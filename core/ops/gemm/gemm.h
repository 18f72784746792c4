/// Gemm: c[m, n] = op(a) op(b) for float, double and wrapping 32-bit integers, row-major, on top of the tile kernels.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/parallel.h"
#include "core/op/tile.h"
#include "core/ops/gemm/tile.h"
#include "core/ops/kit/steps_of_product.h"

namespace emplace::gemm {

/// The sizes of one matrix product and the way chosen for it. Immutable; any thread may use it.
template <class T>
class Gemm {
 public:
  Gemm() = default;
  /// a is [m, k], or [k, m] if transpose_a; b is [k, n], or [n, k] if transpose_b.
  Gemm(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b);

  /// The way that was chosen, and why.
  std::string describe() const;
  /// Elements that run() needs for b rearranged into panels, the same on every processor; 0: b is read as it lies.
  int64_t packed_b_size() const;
  /// Is a b that is another in each run better read as it lies, although it would be packed for many?
  bool passes_b_once() const { return passes_b_once_; }
  /// Rearranges b. `packed` is 64-byte aligned. A constant b needs this once.
  void pack_b(Parallel& parallel, const T* b, T* packed) const;
  /// `packed_b`: what pack_b() made, if packed_b_size() is not 0; null if passes_b_once().
  /// `sink`, if any, is told of c's rows.
  void run(Parallel& parallel, const T* a, const T* b, const T* packed_b, T* c, RowSink* sink = nullptr) const;

 private:
  /// What follows the product: steps that are done to its tiles, if any, and who is told of rows.
  struct Behind {
    StepsOfProduct<T> steps;
    RowSink* sink = nullptr;
  };
  void multiply(Parallel& parallel, const T* a, const T* b, const T* packed_b, T* c, const Behind& behind) const;
  enum class Way { kNothing, kZero, kRow, kDots, kColumn, kColumnTransposed, kTiles };
  /// Work is split by rows of c, else by its columns.
  bool by_rows() const { return row_tiles_ >= panels_; }
  void run_tiles(const T* a, const T* b, const T* packed_b, T* c, int64_t row_tile_begin, int64_t row_tile_end,
                 int64_t panel_begin, int64_t panel_end, const Behind& behind) const;
  void look_ahead(TileArgs<T>& t, const T* packed_b, int64_t k, int64_t panel, int64_t panel_end, int64_t i,
                  int64_t count) const;
  const T* pack_rows(const T* a, int64_t row, int rows, int64_t k_begin, int64_t depth, T* out) const;

  int64_t m_ = 0, n_ = 0, k_ = 0;
  bool transpose_a_ = false, transpose_b_ = false;
  Way way_ = Way::kNothing;
  bool pack_b_ = false, passes_b_once_ = false;
  bool pack_a_ = false;
  bool looks_ahead_ = false;
  int rows_ = 1, cols_ = 1;             // of a full tile
  int64_t row_tiles_ = 0, panels_ = 0;  // panel: cols_ columns of b, all k
  int64_t depth_ = 0;                   // k is cut into blocks of this depth
};

extern template class Gemm<float>;
extern template class Gemm<double>;
extern template class Gemm<uint32_t>;

}  // namespace emplace::gemm
