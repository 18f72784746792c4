/// The variables that an optimizer keeps: slots of every trained variable, and what all of them share.
#pragma once

#include <string_view>
#include <vector>

#include "core/train/optimizers/optimizer.h"
#include "core/train/variable_nodes.h"

namespace emplace {

struct OptimizerState {
  std::vector<std::vector<VariableNodes>> slots;  // by variable, then as in the rule
  std::vector<VariableNodes> powers;              // as in the rule; empty with Keras' rule
  VariableNodes iteration;                        // Keras' rule

  /// All of them, in an order that is the same for every copy.
  std::vector<VariableNodes> all() const;
};

/// The shared ones lie with the first variable by name.
OptimizerState add_optimizer_state(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule,
                                   const std::vector<TrainVariable>& variables);

/// The same for copies of these variables, one by one: `original`'s names with `suffix` ("/replica_1").
OptimizerState copy_optimizer_state(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule,
                                    const std::vector<TrainVariable>& copies, const OptimizerState& original,
                                    std::string_view suffix);

}  // namespace emplace
