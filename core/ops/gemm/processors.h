/// The choices of products and convolutions that hang on the processor: the shapes of tiles, for which the files of the
/// tile kernels are compiled, and in one table (processors.cpp) what counts as staying in a cache and which distances
/// fall together in one. A row is found, and its caches measured out, by what the processor says of itself, never by
/// timing, and none of it changes a byte of a result or of a plan.
#pragma once

#include <cstdint>

#include "core/ops/kit/isa.h"

namespace emplace::gemm {

/// Of a tile kernel: as many sums as there are registers for, two vectors wide, beside a row of b and an element of a.
struct TileShape {
  int vector_bytes, rows;
};
inline constexpr TileShape kTileOfBase{16, 4}, kTileOfV3{32, 6}, kTileOfV4{64, 14};

struct Processor {
  // b is used as it lies if it takes no more: it stays in L1.
  int64_t small_bytes;
  // What takes more does not stay in the second level of cache beside what it is multiplied with: it is asked for
  // ahead, and a filter passes by part after part. Half of that level, where the processor tells its size.
  int64_t near_bytes;
  // Pixels that read more than near_bytes are cut into blocks if the filter takes so many times near_bytes, and if each
  // part of it passes by so many tiles at least.
  int64_t far_filter, enough_tiles;
  // What is copied of an image with its padding: it stays in L1 beside the filter.
  int64_t band_bytes;
  // A batch that takes no more comes from the last level of cache again and again: asking for it ahead does not pay.
  int64_t last_bytes;
  // A matrix of more comes from memory each time: its rows are asked for ahead, which in a cache costs a third.
  int64_t cached_bytes;
  // Elements of finished rows that are handed on at once: they are in L1 still.
  int64_t sink_elements;
  // Rows of a that lie a multiple of this apart fall into the same sets of L1: they are packed.
  int64_t conflict_stride;
  // Images that lie a multiple of this apart fall into few sets of the cache: so many at most share a tile.
  int64_t image_stride, image_rows;
};

/// "AVX-512", "AVX2", "SSE2": what vectors are of.
const char* isa_name(Isa isa);
/// The row of the processor that runs this, as EMPLACE_ISA and an IsaLimit leave it.
const Processor& processor();

}  // namespace emplace::gemm
