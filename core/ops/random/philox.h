/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and the distributions that
/// TensorFlow draws from it, bit for bit.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "core/base/dtype.h"
#include "core/base/parallel.h"
#include "core/base/shared.h"

namespace emplace {

/// A stream is a key and a 128-bit counter; block i of four words is the cipher of counter + i.
class PhiloxStream {
 public:
  using Block = std::array<uint32_t, 4>;
  EMPLACE_SHARED PhiloxStream(uint64_t key, uint64_t counter_low, uint64_t counter_high)
      : key_(key), low_(counter_low), high_(counter_high) {}

  EMPLACE_SHARED Block block(uint64_t i) const {
    const uint64_t low = low_ + i, high = high_ + (low < i ? 1 : 0);
    uint32_t c0 = static_cast<uint32_t>(low), c1 = static_cast<uint32_t>(low >> 32);
    uint32_t c2 = static_cast<uint32_t>(high), c3 = static_cast<uint32_t>(high >> 32);
    uint32_t k0 = static_cast<uint32_t>(key_), k1 = static_cast<uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xd2511f53} * c0, p1 = uint64_t{0xcd9e8d57} * c2;
      c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c1 = static_cast<uint32_t>(p1);
      c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c3 = static_cast<uint32_t>(p0);
      k0 += 0x9e3779b9;
      k1 += 0xbb67ae85;
    }
    return {c0, c1, c2, c3};
  }
  /// Moves on by that many blocks.
  void skip(uint64_t blocks) {
    low_ += blocks;
    if (low_ < blocks) ++high_;
  }

 private:
  uint64_t key_, low_, high_;
};

/// Uniform in [0, 1).
EMPLACE_SHARED inline float uniform_float(uint32_t word) {
  return std::bit_cast<float>((127u << 23) | (word & 0x7fffff)) - 1.0f;
}
EMPLACE_SHARED inline double uniform_double(uint32_t w0, uint32_t w1) {
  return std::bit_cast<double>((uint64_t{1023} << 52) | (static_cast<uint64_t>(w0 & 0xfffff) << 32) | w1) - 1.0;
}

/// Words of a stream, one after the other, from block `first` on.
class PhiloxWords {
 public:
  EMPLACE_SHARED PhiloxWords(const PhiloxStream& stream, uint64_t first) : stream_(stream), next_block_(first) {}
  EMPLACE_SHARED uint32_t next() {
    if (used_ == 4) {
      words_ = stream_.block(next_block_++);
      used_ = 0;
    }
    return words_[static_cast<size_t>(used_++)];
  }
  /// Uniform in [0, 1) from two words.
  EMPLACE_SHARED double next_double() {
    const uint32_t w0 = next(), w1 = next();
    return uniform_double(w0, w1);
  }

 private:
  const PhiloxStream& stream_;
  uint64_t next_block_;
  PhiloxStream::Block words_{};
  int used_ = 4;
};

/// Word i of those of T's size that a block has.
template <class T>
EMPLACE_SHARED T word_of_block(const PhiloxStream::Block& block, size_t i) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(block[2 * i % 4] | static_cast<uint64_t>(block[(2 * i + 1) % 4]) << 32);
  else
    return static_cast<T>(block[i]);
}

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

/// Elements of type T that are made from one block, and the type that they are computed in, in which those of a uniform
/// distribution are exact.
template <class T>
inline constexpr int kPhiloxGroup = sizeof(T) == 8 ? 2 : 4;
template <class T>
using PhiloxWide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Two independent normal values (Box and Muller).
template <class W>
struct NormalPair {
  W first, second;
};
EMPLACE_SHARED inline NormalPair<float> normal_pair(uint32_t w0, uint32_t w1) {
  const float drawn = uniform_float(w0), u = drawn < 1e-7f ? 1e-7f : drawn;
  const float angle = static_cast<float>(2 * std::numbers::pi * static_cast<double>(uniform_float(w1)));
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}
EMPLACE_SHARED inline NormalPair<double> normal_pair(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  const double drawn = uniform_double(w0, w1), u = drawn < 1e-7 ? 1e-7 : drawn;
  const double angle = 2 * std::numbers::pi * uniform_double(w2, w3);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

/// Group g of a distribution's elements, for elements of type T.
template <class T>
EMPLACE_SHARED void uniform_group(const PhiloxStream& stream, uint64_t g, PhiloxWide<T>* out) {
  const auto w = stream.block(g);
  if constexpr (std::is_same_v<T, double>) {
    for (size_t i = 0; i < 2; ++i) out[i] = uniform_double(w[2 * i], w[2 * i + 1]);
  } else {
    for (size_t i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, half>)
        out[i] = static_cast<float>(w[i] & 0x3ff) * 0x1p-10f;
      else if constexpr (std::is_same_v<T, bfloat16>)
        out[i] = static_cast<float>(w[i] & 0x7f) * 0x1p-7f;
      else
        out[i] = uniform_float(w[i]);
    }
  }
}
template <class T>
EMPLACE_SHARED void normal_group(const PhiloxStream& stream, uint64_t g, PhiloxWide<T>* out) {
  const auto w = stream.block(g);
  if constexpr (std::is_same_v<T, double>) {
    const auto pair = normal_pair(w[0], w[1], w[2], w[3]);
    out[0] = pair.first;
    out[1] = pair.second;
  } else {
    for (size_t i = 0; i < 4; i += 2) {
      const auto pair = normal_pair(w[i], w[i + 1]);
      out[i] = pair.first;
      out[i + 1] = pair.second;
    }
  }
}
/// A group owns 256 words' worth of blocks (of 64-bit elements: half as many).
template <class T>
EMPLACE_SHARED void truncated_group(const PhiloxStream& stream, uint64_t g, PhiloxWide<T>* out) {
  constexpr int kBlocks = 256;
  PhiloxWords words(stream, g * (std::is_same_v<T, double> ? kBlocks / 2 : kBlocks));
  int filled = 0;
  while (filled < kPhiloxGroup<T>) {
    NormalPair<PhiloxWide<T>> pair;
    const uint32_t w0 = words.next(), w1 = words.next();
    if constexpr (std::is_same_v<T, double>) {
      const uint32_t w2 = words.next(), w3 = words.next();
      pair = normal_pair(w0, w1, w2, w3);
    } else {
      pair = normal_pair(w0, w1);
    }
    if (std::fabs(pair.first) < 2) out[filled++] = pair.first;
    if (filled < kPhiloxGroup<T> && std::fabs(pair.second) < 2) out[filled++] = pair.second;
  }
}
template <class T>
EMPLACE_SHARED void random_group(const PhiloxStream& stream, Distribution distribution, uint64_t g,
                                 PhiloxWide<T>* out) {
  switch (distribution) {
    case Distribution::kUniform:
      return uniform_group<T>(stream, g, out);
    case Distribution::kNormal:
      return normal_group<T>(stream, g, out);
    case Distribution::kTruncatedNormal:
      return truncated_group<T>(stream, g, out);
  }
}

/// n elements of a floating type from the stream's start. Pieces run beside each other; the result does not depend on
/// it.
void fill_random(Parallel& parallel, const PhiloxStream& stream, Distribution distribution, DType type, void* out,
                 int64_t n);
/// n integers (int32 or int64) in [low, high): low + word mod (high - low). REQUIRES: low < high.
void fill_random_integers(Parallel& parallel, const PhiloxStream& stream, DType type, int64_t low, int64_t high,
                          void* out, int64_t n);
/// n words of `bytes` bytes (4 or 8) of the stream, as they are.
void fill_random_words(Parallel& parallel, const PhiloxStream& stream, int64_t bytes, void* out, int64_t n);

}  // namespace emplace
