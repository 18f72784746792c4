/// A tiled matrix product whose operands are functions of row and column: what serves MatMul, and convolutions as
/// products with an image seen as a matrix, wherever no library does. Sums are made in the order of k.
///
///   struct Load { __device__ W operator()(int64_t batch, int64_t row, int64_t column) const; };   // W: Wide<T>
///   struct Store { __device__ void operator()(int64_t batch, int64_t row, int64_t column, W value) const; };
#pragma once

#include <algorithm>

#include "cuda/arithmetic.h"
#include "cuda/kernel_table.h"
#include "cuda/launch.h"

namespace emplace::cuda {

struct GemmSize {
  int64_t batches = 1, m = 0, n = 0, k = 0;
  int64_t pieces = 1;  // of k, each for a block of its own, which stores it as batch `batch * pieces + piece`
};

inline constexpr int kGemmTile = 64, kGemmDepth = 16, kGemmOwn = 4;  // a thread has 4 x 4 results

/// What a block keeps of both operands for kGemmDepth steps of the sums.
template <class W>
using GemmSlab = W[kGemmDepth][kGemmTile + 1];

/// A block's tile of piece `slot % pieces` of batch `slot / pieces`.
template <class W, class A, class B, class Store>
__device__ __forceinline__ void gemm_tile(const A& a, const B& b, const Store& store, const GemmSize& size,
                                          int64_t slot, GemmSlab<W>& left, GemmSlab<W>& right) {
  const int64_t column_tiles = (size.n + kGemmTile - 1) / kGemmTile;
  const int64_t row0 = blockIdx.x / column_tiles * kGemmTile, column0 = blockIdx.x % column_tiles * kGemmTile;
  const int64_t batch = slot / size.pieces, piece = (size.k + size.pieces - 1) / size.pieces;
  const int64_t begin = slot % size.pieces * piece, end = begin + piece < size.k ? begin + piece : size.k;
  const unsigned own_row = threadIdx.x / 16, own_column = threadIdx.x % 16;
  W sums[kGemmOwn][kGemmOwn];
  EMPLACE_UNROLL for (int i = 0; i < kGemmOwn; ++i) {
    EMPLACE_UNROLL for (int j = 0; j < kGemmOwn; ++j) sums[i][j] = W(0);
  }
  for (int64_t k0 = begin; k0 < end; k0 += kGemmDepth) {
    for (int part = 0; part < kGemmTile * kGemmDepth / static_cast<int>(kThreads); ++part) {
      const unsigned at = threadIdx.x + static_cast<unsigned>(part) * kThreads;
      const unsigned depth_a = at % kGemmDepth, row = at / kGemmDepth, column = at % kGemmTile,
                     depth_b = at / kGemmTile;
      left[depth_a][row] = row0 + row < size.m && k0 + depth_a < end ? a(batch, row0 + row, k0 + depth_a) : W(0);
      right[depth_b][column] =
          column0 + column < size.n && k0 + depth_b < end ? b(batch, k0 + depth_b, column0 + column) : W(0);
    }
    __syncthreads();
    for (int d = 0; d < kGemmDepth; ++d) {
      EMPLACE_UNROLL for (int i = 0; i < kGemmOwn; ++i) {
        const W x = left[d][own_row + 16 * static_cast<unsigned>(i)];
        EMPLACE_UNROLL for (int j = 0; j < kGemmOwn; ++j) sums[i][j] =
            accumulate(sums[i][j], x, right[d][own_column + 16 * static_cast<unsigned>(j)]);
      }
    }
    __syncthreads();
  }
  EMPLACE_UNROLL for (int i = 0; i < kGemmOwn; ++i) {
    EMPLACE_UNROLL for (int j = 0; j < kGemmOwn; ++j) {
      const int64_t row = row0 + own_row + 16 * i, column = column0 + own_column + 16 * j;
      if (row < size.m && column < size.n) store(slot, row, column, sums[i][j]);
    }
  }
}

/// The grid's second dimension goes over the slots, of which there may be more than a grid can have.
template <class W, class A, class B, class Store>
__global__ void gemm_kernel(A a, B b, Store store, GemmSize size) {
  EMPLACE_BLOCK_SHARED(GemmSlab<W>, left, );
  EMPLACE_BLOCK_SHARED(GemmSlab<W>, right, );
  for (int64_t slot = blockIdx.y; slot < size.batches * size.pieces; slot += gridDim.y)
    gemm_tile<W>(a, b, store, size, slot, left, right);
}

inline constexpr int64_t kMaxGridRows = 65535;

/// Unimplemented: more tiles than a grid can have.
inline Result<dim3> gemm_grid(const GemmSize& size) {
  const int64_t tiles = ((size.m + kGemmTile - 1) / kGemmTile) * ((size.n + kGemmTile - 1) / kGemmTile);
  if (tiles > kMaxBlocks) return unimplemented("matrix products of this size on a GPU without cuBLASLt");
  return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min(size.batches * size.pieces, kMaxGridRows)));
}

template <class W, class A, class B, class Store>
Status gemm(cudaStream_t stream, const GemmSize& size, const A& a, const B& b, const Store& store) {
  ASSIGN_OR_RETURN(const dim3 grid, gemm_grid(size));
  return launch(Barriers::kBlock, gemm_kernel<W, A, B, Store>, grid, kThreads, 0, stream, a, b, store, size);
}

}  // namespace emplace::cuda
