#include "core/ops/philox.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace emplace {
namespace {

constexpr double kBlockNs = 10;  // rough time of a block and its elements
constexpr int kTruncatedBlocks = 256;  // a group of truncated normals owns so many words' worth of blocks

float uniform_float(uint32_t word) { return std::bit_cast<float>((127u << 23) | (word & 0x7fffff)) - 1.0f; }
double uniform_double(uint32_t w0, uint32_t w1) {
  return std::bit_cast<double>((uint64_t{1023} << 52) | (static_cast<uint64_t>(w0 & 0xfffff) << 32) | w1) - 1.0;
}
template <class H>
H from_bits(uint16_t bits) {
  H h;
  h.bits = bits;
  return h;
}

template <class T>
T uniform(uint32_t word) {
  if constexpr (std::is_same_v<T, half>) {
    return half(static_cast<float>(from_bits<half>(static_cast<uint16_t>((15 << 10) | (word & 0x3ff)))) - 1.0f);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return bfloat16(static_cast<float>(from_bits<bfloat16>(static_cast<uint16_t>((127 << 7) | (word & 0x7f)))) - 1.0f);
  } else {
    return uniform_float(word);
  }
}

/// Two independent normal values (Box and Muller).
template <class T>
struct Pair {
  T first, second;
};
Pair<float> normal_pair(uint32_t w0, uint32_t w1) {
  const float u = std::max(uniform_float(w0), 1e-7f);
  const float angle = static_cast<float>(2 * std::numbers::pi * static_cast<double>(uniform_float(w1)));
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}
Pair<double> normal_pair(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  const double u = std::max(uniform_double(w0, w1), 1e-7);
  const double angle = 2 * std::numbers::pi * uniform_double(w2, w3);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

/// Elements made from one block: words or pairs of words.
template <class T>
constexpr int kGroup = sizeof(T) == 8 ? 2 : 4;

template <class T>
void uniform_group(const PhiloxStream& stream, uint64_t g, T* out) {
  const auto w = stream.block(g);
  if constexpr (std::is_same_v<T, double>) {
    for (size_t i = 0; i < 2; ++i) out[i] = uniform_double(w[2 * i], w[2 * i + 1]);
  } else {
    for (size_t i = 0; i < 4; ++i) out[i] = uniform<T>(w[i]);
  }
}
template <class T>
void normal_group(const PhiloxStream& stream, uint64_t g, T* out) {
  const auto w = stream.block(g);
  if constexpr (std::is_same_v<T, double>) {
    const auto [first, second] = normal_pair(w[0], w[1], w[2], w[3]);
    out[0] = first;
    out[1] = second;
  } else {
    for (size_t i = 0; i < 4; i += 2) {
      const auto [first, second] = normal_pair(w[i], w[i + 1]);
      out[i] = static_cast<T>(first);
      out[i + 1] = static_cast<T>(second);
    }
  }
}
template <class T>
void truncated_group(const PhiloxStream& stream, uint64_t g, T* out) {
  PhiloxWords words(stream, g * (std::is_same_v<T, double> ? kTruncatedBlocks / 2 : kTruncatedBlocks));
  int filled = 0;
  auto keep = [&](auto x) {
    if (filled < kGroup<T> && std::abs(x) < 2) out[filled++] = static_cast<T>(x);
  };
  while (filled < kGroup<T>) {
    const uint32_t w0 = words.next(), w1 = words.next();
    if constexpr (std::is_same_v<T, double>) {
      const uint32_t w2 = words.next(), w3 = words.next();
      const auto [first, second] = normal_pair(w0, w1, w2, w3);
      keep(first);
      keep(second);
    } else {
      const auto [first, second] = normal_pair(w0, w1);
      keep(first);
      keep(second);
    }
  }
}

/// Element group g comes from group(g); the last one is cut.
template <class T, class F>
void fill_groups(Parallel& parallel, T* out, int64_t n, double cost_ns, const F& group) {
  constexpr int64_t kCount = kGroup<T>;
  parallel.run((n + kCount - 1) / kCount, cost_ns, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      T values[kCount];
      group(static_cast<uint64_t>(g), values);
      std::copy_n(values, std::min(kCount, n - g * kCount), out + g * kCount);
    }
  });
}

template <class T>
void fill_floating(Parallel& parallel, const PhiloxStream& stream, Distribution distribution, T* out, int64_t n) {
  switch (distribution) {
    case Distribution::kUniform:
      return fill_groups(parallel, out, n, kBlockNs, [&](uint64_t g, T* to) { uniform_group(stream, g, to); });
    case Distribution::kNormal:
      return fill_groups(parallel, out, n, 4 * kBlockNs, [&](uint64_t g, T* to) { normal_group(stream, g, to); });
    case Distribution::kTruncatedNormal:
      return fill_groups(parallel, out, n, 5 * kBlockNs, [&](uint64_t g, T* to) { truncated_group(stream, g, to); });
  }
}

}  // namespace

PhiloxStream::Block PhiloxStream::block(uint64_t i) const {
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

void PhiloxStream::skip(uint64_t blocks) {
  low_ += blocks;
  if (low_ < blocks) ++high_;
}

uint32_t PhiloxWords::next() {
  if (used_ == 4) {
    words_ = stream_.block(next_block_++);
    used_ = 0;
  }
  return words_[static_cast<size_t>(used_++)];
}

double PhiloxWords::next_double() {
  const uint32_t w0 = next(), w1 = next();
  return uniform_double(w0, w1);
}

void fill_random(Parallel& parallel, const PhiloxStream& stream, Distribution distribution, DType type, void* out, int64_t n) {
  switch (type) {
    case DType::kDouble: return fill_floating(parallel, stream, distribution, static_cast<double*>(out), n);
    case DType::kHalf: return fill_floating(parallel, stream, distribution, static_cast<half*>(out), n);
    case DType::kBFloat16: return fill_floating(parallel, stream, distribution, static_cast<bfloat16*>(out), n);
    default: return fill_floating(parallel, stream, distribution, static_cast<float*>(out), n);
  }
}

void fill_random_integers(Parallel& parallel, const PhiloxStream& stream, DType type, int64_t low, int64_t high, void* out,
                          int64_t n) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (type == DType::kInt32) {
    fill_groups(parallel, static_cast<int32_t*>(out), n, kBlockNs, [&](uint64_t g, int32_t* to) {
      const auto w = stream.block(g);
      for (size_t i = 0; i < 4; ++i) to[i] = static_cast<int32_t>(low + static_cast<int64_t>(w[i] % range));
    });
  } else {
    fill_groups(parallel, static_cast<int64_t*>(out), n, kBlockNs, [&](uint64_t g, int64_t* to) {
      const auto w = stream.block(g);
      for (size_t i = 0; i < 2; ++i) {
        const uint64_t word = w[2 * i] | static_cast<uint64_t>(w[2 * i + 1]) << 32;
        to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + word % range);
      }
    });
  }
}

}  // namespace emplace
