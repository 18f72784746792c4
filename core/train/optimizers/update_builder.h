/// Adds to a graph what an optimizer does in a step: the nodes that apply_gradients() makes, with their names.
#pragma once

#include <string>
#include <vector>

#include "core/train/optimizers/gradient_and_variable.h"
#include "core/train/optimizers/optimizer_state.h"

namespace emplace {

struct UpdatePlace {
  std::string scope = "train";  // of the nodes; the update's own node has this name, which must be free
  std::string device;           // of constants; everything else lies with the variables
  Endpoint learning_rate{};     // kNoNode: the request's number, as a constant
  /// Counts the steps after everything else; without it the update ends in a group.
  const VariableNodes* global_step = nullptr;
};

/// One update of all variables; `state` is of the same variables, in the same order. Returns the node that runs it.
NodeId add_update(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule, const OptimizerState& state,
                  const std::vector<GradientAndVariable>& gradients, const UpdatePlace& place);

/// Adds one to the count of steps after `update`; the node that does it is called `name`.
NodeId count_steps(GraphEditor& edit, const VariableNodes& global_step, const std::string& name, NodeId update);

}  // namespace emplace
