/// Describes memory that a tile kernel should prefetch while it multiplies (TileArgs::ahead).
#pragma once

#include "core/ops/gemm/tile.h"

namespace emplace::gemm {

/// a / b of what is not negative. Most numbers here are small, and dividing 64 bits takes about twice as long.
inline int64_t quotient(int64_t a, int64_t b) {
  if (((a | b) >> 32) != 0) return a / b;
  return static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b));
}

/// `count` elements that follow each other, while so many products are summed. More than a line with each are too many:
/// only the first of them are asked for.
template <class T>
Ahead ahead_of(const T* first, int64_t count, int64_t products) {
  constexpr int64_t kLine = 64;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  if (bytes <= 0 || products <= 0) return {};
  const int64_t step = bytes < kLine * products ? quotient(bytes + products - 1, products) : kLine;
  return {reinterpret_cast<const char*>(first), step};
}

/// What follows after `products`.
inline Ahead after(const Ahead& ahead, int64_t products) {
  return {ahead.at ? ahead.at + ahead.step * products : nullptr, ahead.step};
}

}  // namespace emplace::gemm
