/// The loop of a StepChain (core/op/element_step.h), for each level of instructions but the lowest, whose kernels do
/// not agree on what becomes of two operands that are no numbers.
#pragma once

#include "core/op/element_step.h"

namespace emplace {

/// Null: there is none.
Tile::Function step_chain_code();

}  // namespace emplace
