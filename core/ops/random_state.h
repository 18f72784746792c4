/// The stream of a node that draws random numbers: kept from step to step, each step takes what it reserves.
#pragma once

#include "core/op/kernel.h"
#include "core/ops/philox.h"

namespace emplace {

class RandomState {
 public:
  /// From attrs `seed` and `seed2`; if both are 0, from the run's own seed and the node's name.
  explicit RandomState(const KernelInit& init);

  /// The stream as it stands; then it moves on by `blocks`.
  PhiloxStream reserve(uint64_t blocks);

 private:
  PhiloxStream stream_;
};

}  // namespace emplace
