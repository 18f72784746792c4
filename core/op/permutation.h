/// The op that puts dimensions in another order and does nothing else.
#pragma once

#include "core/op/op_def.h"

namespace emplace {

/// Is the output of such nodes input 0, with the dimensions in the order that input 1 says? Null: no op, hence not.
bool permutes_dimensions(const OpDef* def);

}  // namespace emplace
