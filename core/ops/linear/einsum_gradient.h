/// The gradient of Einsum, built from Einsum and what undoes sums and broadcasting.
#pragma once

#include "core/op/gradient_context.h"

namespace emplace {

Status einsum_gradient(GradientContext& g);

}  // namespace emplace
