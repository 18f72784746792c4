/// ConvPlans by cuDNN.
#pragma once

#include "cuda/convolution.h"

namespace emplace::cuda::cudnn {

/// The first engine that cuDNN's heuristics propose and that keeps the device's promises: --deterministic, --matmul-precision,
/// and sums of half and bfloat16 in float.
Result<std::shared_ptr<const ConvPlan>> make_plan(const ConvProblem& problem, const DeviceState& device);

}  // namespace emplace::cuda::cudnn
