/// Tile kernels: the innermost loops of matrix multiplication and convolution, one set per instruction set
/// (baseline x86-64, AVX2 + FMA, AVX-512), chosen once for the CPU that runs them.
///
/// A tile is a block of the output that stays in registers while all products for it are summed:
///   c[i, j] (+)= sum over taps t and k < depth of a(t, i, k) * b[t * depth + k, j]
/// Every element is summed in the order of t and k, whatever the tile it falls into, so results do not depend on how
/// the output is cut.
#pragma once

#include <cstdint>

namespace emplace::gemm {

/// Memory that is wanted soon, in order: the line of cache at `at` is asked for with a tile's first product, the one
/// `step` bytes further (the same again, if that is less than a line) with each that follows. It may reach beyond what
/// there is. Null: nothing.
struct Ahead {
  const char* at = nullptr;
  int64_t step = 0;
};

template <class T>
struct TileArgs {
  int rows;       // 1 .. max_rows
  int cols;       // 1 .. max_cols
  int64_t taps;   // pieces of the sum; 1 for a matrix product
  int64_t depth;  // products per tap
  // Where a is: `row_pointers`[t * row_pointer_stride + i] + k, or if that is null: a + `a_offsets`[t] + i + k *
  // a_step.
  const T* const* row_pointers;
  int64_t row_pointer_stride;
  int64_t a_row_step;  // > 0: the pointers of a tap lie so many elements apart, in order: the first is enough
  const T* a;
  const int64_t* a_offsets;  // null: there is one tap, at 0
  int64_t a_step;
  // Row (t, k) of b: b + `b_offsets`[t] + k * b_step, readable up to the next multiple of a vector.
  const T* b;
  const int64_t* b_offsets;  // null: tap after tap, t * depth * b_step
  int64_t b_step;
  T* c;  // row i at c + i * c_step
  int64_t c_step;
  bool accumulate;  // add to what c holds
  // What the tiles that follow read and write, asked for line by line while the products are summed: all at once would
  // keep b waiting. `next_c`: as c, of the next tile; null: nothing is asked for.
  const T* next_c;
  Ahead ahead[2];
};

/// y[0, n) (+)= sum over p < k of x[p * x_step] * b[p * b_step + j]: a row times a matrix, reading b once and in order.
template <class T>
struct RowArgs {
  int64_t n, k;
  const T* x;
  int64_t x_step;
  const T* b;
  int64_t b_step;
  T* y;
  bool asks_ahead;  // b comes from memory
};

template <class T>
struct Kernels {
  int max_rows;  // rows of a full tile
  int max_cols;  // its columns: two vectors
  int vector;    // elements of a vector
  void (*tile)(const TileArgs<T>&);
  void (*row_times_matrix)(const RowArgs<T>&);
  T (*dot)(const T* x, const T* y, int64_t n);
};

/// Of the widest processor that there are kernels for. What a plan counts goes by these, so that it is the same on
/// every machine: columns of a tile, elements of a vector.
template <class T>
constexpr int64_t kWidestVector = 64 / static_cast<int64_t>(sizeof(T));
template <class T>
constexpr int64_t kWidestCols = 2 * kWidestVector<T>;

/// For the CPU that runs this. T: float, double, uint32_t (integers that wrap).
template <class T>
const Kernels<T>& kernels();

// One per translation unit, each compiled for its instruction set; only kernels() calls them.
template <class T>
const Kernels<T>& kernels_baseline();
template <class T>
const Kernels<T>& kernels_v3();
template <class T>
const Kernels<T>& kernels_v4();

}  // namespace emplace::gemm
