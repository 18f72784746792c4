/// The stand-in's library of convolutions: a loop over all taps, in cuDNN's place. Only where EMPLACE_STANDIN_CUDNN is
/// set; without it the plug-in's own convolution kernels run.
#pragma once

#include "cuda/conv_plan.h"

namespace emplace::standin {

Result<std::shared_ptr<const cuda::ConvPlan>> conv_plan(const cuda::ConvProblem& problem,
                                                        const cuda::DeviceState& device);

}  // namespace emplace::standin
