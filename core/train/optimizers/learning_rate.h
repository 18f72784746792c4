/// The learning rate of a step as a tensor of the graph, where it is more than a number.
#pragma once

#include <string>

#include "core/train/train_request.h"
#include "core/train/variable_nodes.h"

namespace emplace {

/// Does the request's learning rate depend on how many steps were made?
bool needs_global_step(const LearningRate& rate);

/// A schedule's nodes, with TensorFlow's formulas (tf.compat.v1.train.exponential_decay, cosine_decay,
/// piecewise_constant; warm-up is Keras'). `step`: the steps made, int64. REQUIRES: the request names a schedule, with
/// its arguments.
Endpoint add_schedule(GraphEditor& edit, const LearningRate& rate, const VariableNodes& step,
                      const std::string& device);

}  // namespace emplace
