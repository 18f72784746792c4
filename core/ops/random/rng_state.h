/// The variable behind tf.random.Generator: int64s, of which the first two are a counter and the third is the key of a
/// Philox stream.
#pragma once

#include "core/base/shared.h"
#include "core/op/kernel.h"
#include "core/ops/random/philox.h"

namespace emplace {

inline constexpr int64_t kRngStateWords = 3;
/// Blocks that a number takes of the stream, whatever it is made of.
inline constexpr uint64_t kRngBlocksPerNumber = 256;

/// InvalidArgument or Unimplemented in TensorFlow's words unless the stream is Philox's.
Status check_rng_algorithm(int64_t algorithm);
/// Does it hold such a state? REQUIRES: the caller holds variable.mutex.
Status check_rng_state(const Variable& variable);

/// The stream of the variable behind input 0 as it stands; then it moves on by `numbers` numbers. Input 1 is the
/// algorithm.
Result<PhiloxStream> take_rng_numbers(KernelContext& c, uint64_t numbers);

/// The state's counter moves on. As TensorFlow adds, by halves: where the upper half of `blocks` is all ones and the
/// lower ones carry, the counter's second word is not told.
EMPLACE_SHARED inline void move_rng_counter(int64_t* state, uint64_t blocks) {
  const auto before = static_cast<uint64_t>(state[0]);
  const uint32_t low = static_cast<uint32_t>(before) + static_cast<uint32_t>(blocks);
  const uint32_t more = static_cast<uint32_t>(blocks >> 32) + (low < static_cast<uint32_t>(blocks) ? 1 : 0);
  const uint32_t high = static_cast<uint32_t>(before >> 32) + more;
  state[0] = static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | low);
  if (high < more) state[1] = static_cast<int64_t>(static_cast<uint64_t>(state[1]) + 1);
}

}  // namespace emplace
