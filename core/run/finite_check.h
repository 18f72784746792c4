/// FiniteCheck: wraps a kernel and fails the step if one of its outputs holds a NaN or an infinity.
#pragma once

#include "core/run/wrapped_kernel.h"

namespace emplace {

/// DataLoss if an element of the outputs of the kernel inside is NaN or infinite.
class FiniteCheck final : public WrappedKernel {
 public:
  using WrappedKernel::WrappedKernel;
  Status run(KernelContext& c) override;
};

}  // namespace emplace
