/// NumberChain: a StepChain whose steps may also be functions of the number alone, and which may keep the number aside
/// for a later step (x * sigmoid(x)).
#pragma once

#include "core/op/element_step.h"

namespace emplace {

/// As a Tile: as StepChain. A step that is kNone has a function, which needs no operand, and neither does one that
/// takes what was kept.
struct NumberChain : StepChain {
  struct Detail {
    Tile::Function function = nullptr;  // of a kernel's own tile, with its `params`: called for a few vectors at a time
    const void* params = nullptr;
    bool keeps = false;       // the number as it is before this step
    bool takes_kept = false;  // as the other operand
  };
  std::array<Detail, kMost> details;
};

}  // namespace emplace
