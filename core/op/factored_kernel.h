/// FactoredKernel: an elementwise op whose inputs but the first become a few factors per channel, worked out once a
/// step: batch normalisation. Its tile() reads input 0 and these factors, nothing else, so that it can follow a product
/// whose rows are still in cache. One whose factors hang on all of input 0, as the batch's own moments do, hands on
/// rows as well: it begins what is fused.
#pragma once

#include <array>

#include "core/op/element_step.h"

namespace emplace {

class FactoredKernel : public SteppedKernel {
 public:
  /// Inputs 1, 2, ... of the tile's function, behind the op's input 0.
  using Factors = std::array<const float*, 3>;

  /// Before the tiles of a step: writes the factors, and the op's outputs but the first.
  virtual Status begin_tiles(KernelContext& c) = 0;
  /// After prepare(), where tile() has a function: tile().period floats each, in the same place at each step.
  virtual Factors factors() const = 0;
};

}  // namespace emplace
