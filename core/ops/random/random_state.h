/// The stream of a node that draws random numbers: kept from step to step, each step takes what it reserves. Where the
/// session keeps the position, all kernels of the node draw from one stream, and a checkpoint can save it.
#pragma once

#include <atomic>

#include "core/op/kernel.h"
#include "core/ops/random/philox.h"

namespace emplace {

/// Values of an `alg` input: Philox, or whatever suits.
constexpr int64_t kPhilox = 1, kAutomatic = 3;

class RandomState {
 public:
  /// From attrs `seed` and `seed2`; if both are 0, from the run's own seed and the node's name.
  explicit RandomState(const KernelInit& init);

  /// The stream as it stands; then it moves on by `blocks`.
  PhiloxStream reserve(uint64_t blocks);

 private:
  const PhiloxStream start_;
  std::atomic<uint64_t> own_{0};
  std::atomic<uint64_t>& drawn_;  // in blocks
};

/// The stream of the stateless ops: the 128 bits of `seed` (two integers) are ciphered once, so that near seeds give
/// unlike streams.
Result<PhiloxStream> philox_from_seed(const Tensor& seed);

/// The stream of `key` [1] and `counter` [2 or more], if `alg` is Philox (1) or left to us (3).
Result<PhiloxStream> philox_from_counter(const Tensor& key, const Tensor& counter, const Tensor& alg);

/// Key and counter of a seed's stream.
struct PhiloxStart {
  uint64_t key, counter_low, counter_high;
};
Result<PhiloxStart> philox_start_from_seed(const Tensor& seed);

}  // namespace emplace
