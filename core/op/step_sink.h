/// StepSink: a RowSink whose work on rows is a chain of steps by element (core/op/element_step.h), so that a product of
/// floats may do it itself, tile by tile, while a tile's channels and their factors are in the first level of cache.
#pragma once

#include <array>

#include "core/op/element_step.h"
#include "core/op/tile.h"

namespace emplace {

/// Steps that every element of a product goes through, once. Elements count from the product's first one, rows are of
/// its last dimension.
struct ProductSteps {
  struct Input {
    const float* at = nullptr;
    bool by_element = true;  // one for every element, the product itself among them; else one for every column
    bool is_one = false;     // each of them is 1: of what a sum or a product made a product with it makes the same
  };
  const StepChain* chain = nullptr;
  std::array<Input, StepChain::kMostInputs> inputs;  // as the chain's tile has them
  int num_inputs = 0;
  float* out = nullptr;  // may be one of the inputs by element
};

class StepSink : public RowSink {
 public:
  /// Of this run of the product. Null: it has to tell of its rows.
  virtual const ProductSteps* steps() const = 0;
  /// Who is to be told, instead of this, of rows that have gone through steps(). Null: nobody.
  virtual RowSink* behind_steps() = 0;

 protected:
  ~StepSink() = default;
};

}  // namespace emplace
