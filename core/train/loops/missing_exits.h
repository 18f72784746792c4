/// Exits of loop variables that nobody reads outside: a graph that was cut to what a step needs has none, and the
/// gradient of a loop begins at the Exits of all its variables.
#pragma once

#include "core/graph/graph_editor.h"

namespace emplace {

/// Adds an Exit to every loop variable that carries a gradient and has none.
void add_missing_exits(GraphEditor& edit);

}  // namespace emplace
