/// The gradients of Qr and Svd, built as TensorFlow builds them (python/ops/linalg_grad.py). Both need to know the
/// sizes of the matrices before the run.
#pragma once

#include "core/op/gradient_context.h"

namespace emplace {

Status qr_gradient(GradientContext& g);
Status svd_gradient(GradientContext& g);

/// Of stacks of matrices, each of which may be taken as its conjugate transpose.
Value product_of(GradientContext& g, Value a, Value b, bool adjoint_a = false, bool adjoint_b = false);

}  // namespace emplace
