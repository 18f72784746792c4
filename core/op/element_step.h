/// ElementStep: what an elementwise kernel of floats does to a number, said so that several such kernels can be one
/// loop, in which the number stays in a register, or the first cache, from the first step to the last.
#pragma once

#include <array>

#include "core/op/kernel.h"

namespace emplace {

enum class ElementStep : uint8_t { kNone, kAdd, kSubtract, kMultiply, kRelu, kRelu6, kNormalise };

/// Steps that follow each other, functions of the number alone among them (kNone); the number may be kept aside for a
/// later step (x * sigmoid(x)). As a Tile: input 0 is what the first begins with, then come each step's operands (none
/// of kRelu, kRelu6, a function, and what takes the kept number; three of kNormalise, else one). The same roundings as
/// by the kernels one by one.
struct StepChain {
  static constexpr int kMost = 8, kMostInputs = 1 + 3 * kMost;
  struct Step {
    ElementStep step = ElementStep::kNone;
    bool swapped = false;  // the number is the second operand
  };
  struct Detail {
    Tile::Function function =
        nullptr;  // of a kernel's own tile, with its `params`: called for a stretch of elements at a time
    const void* params = nullptr;
    bool keeps = false;       // the number as it is before this step
    bool takes_kept = false;  // as the other operand
  };
  int count = 0;
  std::array<Step, kMost> steps;
  std::array<Detail, kMost> details;
};

/// Then numbers are handed on in the first cache rather than in registers: a function's loop is over many of them.
inline bool has_function(const StepChain& chain) {
  for (int k = 0; k < chain.count; ++k)
    if (chain.steps[static_cast<size_t>(k)].step == ElementStep::kNone) return true;
  return false;
}

/// A kernel that may be part of one.
class SteppedKernel : public Kernel {
 public:
  /// What its tile() does; kNone: something else.
  virtual ElementStep step() const = 0;
  /// The tile of a StepChain, its `params`, on this processor; null: it has none.
  virtual Tile::Function chain_code() const = 0;
};

}  // namespace emplace
