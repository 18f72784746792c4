/// GradientAndVariable: a variable that an optimizer updates, with the gradient of the loss with respect to it.
#pragma once

#include "core/train/variable_nodes.h"

namespace emplace {

struct GradientAndVariable {
  Endpoint gradient;
  TrainVariable variable;
  Endpoint indices{};  // the gradient is these rows of the variable's; kNoNode: all of it
  bool is_slices() const { return indices.node != kNoNode; }
};

}  // namespace emplace
