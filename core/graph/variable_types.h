/// Types and shapes of variables whose initial value another node makes: as in TensorFlow, they are those of the value.
#pragma once

#include "core/graph/graph_file.h"

namespace emplace {

/// Gives such variables the attrs dtype and shape that the file left open. One whose value cannot be typed stays as it
/// is: validate() finds the reason.
void settle_variable_types(GraphFile& file);

}  // namespace emplace
