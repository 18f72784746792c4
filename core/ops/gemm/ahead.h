/// Describes memory that a tile kernel should prefetch while it multiplies (TileArgs::ahead).
#pragma once

#include "core/ops/gemm/tile.h"

namespace emplace::gemm {

/// `count` elements that follow each other.
template <class T>
Ahead ahead_of(const T* first, int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  return {reinterpret_cast<const char*>(first), kAheadBytes, (bytes + kAheadBytes - 1) / kAheadBytes};
}

/// Part `i` of `parts`: for tiles that share what is ahead.
inline Ahead part_of(const Ahead& whole, int64_t i, int64_t parts) {
  const int64_t first = whole.count * i / parts;
  return {whole.at + first * whole.step, whole.step, whole.count * (i + 1) / parts - first};
}

}  // namespace emplace::gemm
