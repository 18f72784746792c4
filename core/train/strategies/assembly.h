/// Assembly: a training graph in the making: what the strategies share of it.
#pragma once

#include <string>
#include <vector>

#include "core/train/optimizers/update_builder.h"
#include "core/train/strategies/towers.h"
#include "core/train/training_graph.h"

namespace emplace {

struct Assembly {
  GraphEditor& edit;
  const TrainRequest& request;
  UpdateRule rule;
  std::vector<TrainVariable> variables;  // to be trained, in the order of the file
  bool listed = false;                   // by `var_list`: then each of them must have a gradient
  TrainGraph& out;
  std::vector<NodeId> initializers;  // of the variables that are added
};

/// The gradient of a loss for each of these variables, in slices where its update or clip_norm asks for them. A
/// variable that the loss does not depend on is left out, in both places, unless it was listed: then that is an error.
/// `scope` ends in "/" or is empty.
Result<std::vector<GradientAndVariable>> gradients_of(Assembly& a, Endpoint loss, std::vector<TrainVariable>& variables,
                                                      const std::string& scope);

/// The gradient of a variable over all samples, on one device: sum(parts) / total, of slices one after the other.
GradientAndVariable mean_gradient(Assembly& a, const std::vector<GradientAndVariable>& parts, Endpoint total,
                                  const std::string& device);

/// tf.clip_by_global_norm(), if the request asks for it.
void clip_gradients(Assembly& a, std::vector<GradientAndVariable>& gradients, const std::string& device);

/// How fast to go: the learning rate as a tensor where it is more than a number, and the count of steps that a schedule
/// needs.
struct Pace {
  Endpoint learning_rate;
  VariableNodes global_step;  // node kNoNode: nobody needs it
  const VariableNodes* counted() const { return global_step.variable == kNoNode ? nullptr : &global_step; }
};
Result<Pace> set_pace(Assembly& a, const std::string& device);

/// What a step computes of its batch: the loss, then the metrics.
std::vector<Endpoint> step_tensors(const Assembly& a);
/// add_tower() of them.
void add_tower_tensors(Assembly& a, Tower& tower, const Replacements& instead);
/// Makes the step's loss and metrics the means over all towers.
void mean_over_towers(Assembly& a, const std::vector<Tower>& towers, Endpoint total, const std::string& device);

// The strategies. Each adds the update, and says in `out` what a step is.
Status train_on_one_device(Assembly& a);
Status train_mirrored(Assembly& a);
Status train_with_parameter_device(Assembly& a);

}  // namespace emplace
