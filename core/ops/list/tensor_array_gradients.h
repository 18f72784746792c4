/// Gradients of the ops on TensorArrays (python/ops/tensor_array_grad.py): an array of gradients, which all nodes of
/// one array and one gradients() call share, and whose flow is the gradient of the array's flow.
#pragma once

#include "core/op/gradient_context.h"

namespace emplace {

Status array_write_gradient(GradientContext& g);
Status array_scatter_gradient(GradientContext& g);
Status array_split_gradient(GradientContext& g);
Status array_read_gradient(GradientContext& g);
Status array_gather_gradient(GradientContext& g);
Status array_concat_gradient(GradientContext& g);

}  // namespace emplace
