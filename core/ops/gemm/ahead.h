/// Describes memory that a tile kernel should prefetch while it multiplies (TileArgs::ahead).
#pragma once

#include "core/ops/gemm/tile.h"

namespace emplace::gemm {

/// a / b of what is not negative. Most numbers here are small, and dividing 64 bits takes about twice as long.
inline int64_t quotient(int64_t a, int64_t b) {
  if (((a | b) >> 32) != 0) return a / b;
  return static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b));
}

/// `count` elements that follow each other.
template <class T>
Ahead ahead_of(const T* first, int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  return {reinterpret_cast<const char*>(first), kAheadBytes, (bytes + kAheadBytes - 1) / kAheadBytes};
}

/// Part `i` of `parts`: for tiles that share what is ahead.
inline Ahead part_of(const Ahead& whole, int64_t i, int64_t parts) {
  const int64_t first = quotient(whole.count * i, parts);
  return {whole.at + first * whole.step, whole.step, quotient(whole.count * (i + 1), parts) - first};
}

/// The same for one part after the other, of equal size but for the last ones: a product of few steps should not wait
/// for divisions.
class AheadParts {
 public:
  AheadParts(const Ahead& whole, int64_t parts)
      : rest_(whole), size_(parts > 1 ? quotient(whole.count + parts - 1, parts) : whole.count) {}
  Ahead next() {
    const int64_t count = rest_.count < size_ ? rest_.count : size_;
    const Ahead part = {rest_.at, rest_.step, count};
    rest_.at += count * rest_.step;
    rest_.count -= count;
    return part;
  }

 private:
  Ahead rest_;
  int64_t size_;
};

}  // namespace emplace::gemm
