/// The hash of two hashes, by which crossed columns number their combinations.
#pragma once

#include <cstdint>

namespace emplace {

/// TensorFlow's FingerprintCat64.
inline uint64_t joined_hash(uint64_t a, uint64_t b) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  const auto mixed = [](uint64_t x) { return x ^ (x >> 47); };
  uint64_t result = (a ^ kFactor) ^ (mixed(b * kFactor) * kFactor);
  result *= kFactor;
  result = mixed(result) * kFactor;
  return mixed(result);
}

}  // namespace emplace
