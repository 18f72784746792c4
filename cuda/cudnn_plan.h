/// ConvPlans by cuDNN.
#pragma once

#include "cuda/conv_plan.h"
#include "cuda/cudnn.h"

namespace emplace::cuda::cudnn {

/// What a plan is made for: a card, or one that is only described and where nothing can be run.
struct Target {
  Handle handle = nullptr;
  const Descriptor* described = nullptr;  // in place of a handle
};

struct Choice {
  ConvGraph graph;
  Descriptor config, plan;  // nowhere is said that a plan does without what it was made of
  int64_t workspace_bytes = 0;
};

/// The first engine that cuDNN's heuristics propose and that keeps the device's promises: --matmul-precision, sums of
/// half and bfloat16 in float, and the same bytes on every run; that last one, if there is no such engine, only with
/// --deterministic. Unavailable: there is none, or cuDNN refuses the sizes.
Result<Choice> choose(const Functions& f, const ConvProblem& problem, const DeviceState& device, const Target& target);

/// On the device's own handle.
Result<std::shared_ptr<const ConvPlan>> make_plan(const Functions& f, const ConvProblem& problem,
                                                  const DeviceState& device);
Result<std::shared_ptr<const ConvPlan>> make_plan(const ConvProblem& problem, const DeviceState& device);

}  // namespace emplace::cuda::cudnn
