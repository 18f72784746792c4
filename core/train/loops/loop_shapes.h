/// Shapes of loop variables, which the ops do not tell: a variable has the shape that it enters with, as far as the
/// body keeps it. (TensorFlow's Python knows the same: while_loop() holds the body to it unless shape_invariants say
/// less.)
#pragma once

#include "core/graph/graph_editor.h"
#include "core/train/loops/forward_loops.h"

namespace emplace {

/// Until the editor's finish(), what is known of shapes inside of loops, and of what comes out of them, is known to it.
void infer_loop_shapes(GraphEditor& edit, const ForwardLoops& loops);

}  // namespace emplace
