/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and the distributions that
/// TensorFlow draws from it, bit for bit.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/base/parallel.h"

namespace emplace {

/// A stream is a key and a 128-bit counter; block i of four words is the cipher of counter + i.
class PhiloxStream {
 public:
  using Block = std::array<uint32_t, 4>;
  PhiloxStream(uint64_t key, uint64_t counter_low, uint64_t counter_high) : key_(key), low_(counter_low), high_(counter_high) {}

  Block block(uint64_t i) const;
  /// Moves on by that many blocks.
  void skip(uint64_t blocks);

 private:
  uint64_t key_, low_, high_;
};

/// Words of a stream, one after the other, from block `first` on.
class PhiloxWords {
 public:
  PhiloxWords(const PhiloxStream& stream, uint64_t first) : stream_(stream), next_block_(first) {}
  uint32_t next();
  /// Uniform in [0, 1) from two words.
  double next_double();

 private:
  const PhiloxStream& stream_;
  uint64_t next_block_;
  PhiloxStream::Block words_{};
  int used_ = 4;
};

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

/// n elements of a floating type from the stream's start. Pieces run beside each other; the result does not depend on it.
void fill_random(Parallel& parallel, const PhiloxStream& stream, Distribution distribution, DType type, void* out, int64_t n);
/// n integers (int32 or int64) in [low, high): low + word mod (high - low). REQUIRES: low < high.
void fill_random_integers(Parallel& parallel, const PhiloxStream& stream, DType type, int64_t low, int64_t high, void* out,
                          int64_t n);

}  // namespace emplace
