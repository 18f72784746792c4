/// MaxPoolGrad's kernel: the gradient of each window goes to the first of its largest cells.
#pragma once

#include <memory>

#include "core/op/kernel.h"

namespace emplace {

/// Inputs: the image, what MaxPool made of it, the gradient of that. Of real numbers.
Result<std::unique_ptr<Kernel>> make_max_pool_grad(const KernelInit& init);

}  // namespace emplace
