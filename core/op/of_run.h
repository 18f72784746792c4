/// OfRun: the mark of a ShapeContext that is about a run of ours. There a shape rule may say more than TensorFlow's own
/// does: what the kernels here make.
#pragma once

#include "core/op/shape_context.h"

namespace emplace {

class OfRun {
 protected:
  ~OfRun() = default;
};

inline bool is_of_run(const ShapeContext& c) { return dynamic_cast<const OfRun*>(&c) != nullptr; }

}  // namespace emplace
