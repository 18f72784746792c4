/// Gradients: reverse mode over the nodes between some tensors and a loss, in graph ops, as tf.gradients() does it:
/// names, structure, colocation (python/ops/gradients_util.py).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph_editor.h"

namespace emplace {

struct GradientOptions {
  bool colocate = true;  // every gradient node with its forward node (colocate_gradients_with_ops)
  /// An op's gradients wait for each other (gate_gradients=GATE_OP), by `tuple/control_dependency` nodes.
  bool gate = false;
  /// A gradient that is rows of x stays that, where nothing else meets it (IndexedSlices). Else every gradient is
  /// dense.
  bool keep_slices = false;
  std::string scope = "gradients";  // made unique
};

struct Gradients {
  std::vector<Endpoint> of;  // by x: of x's type and shape, or slices of that; kNoNode: no path from the loss is left
  std::vector<Endpoint>
      indices;  // by x: of slices, the rows of x; a row may stand there more than once. kNoNode: dense
  std::vector<std::string> why_not;  // by x: then the reason, with the path; else empty
};

/// Adds the nodes, and no others than needed, for the gradients of the sum of `loss` with respect to `xs`: variables
/// (also the handle of a resource variable: the gradient is that of its value) or any floating tensors. Unimplemented,
/// with the path from the loss, if a node between them has an op without a registered gradient; InvalidArgument if the
/// loss or an x is not floating.
Result<Gradients> add_gradients(GraphEditor& edit, Endpoint loss, std::span<const Endpoint> xs,
                                const GradientOptions& options = {});

}  // namespace emplace
