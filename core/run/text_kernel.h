/// TextKernel: wraps a kernel of strings, whose texts then count against the limit of host memory.
#pragma once

#include "core/run/wrapped_kernel.h"

namespace emplace {

/// ResourceExhausted if the limit does not allow the texts that the kernel inside makes.
class TextKernel final : public WrappedKernel {
 public:
  using WrappedKernel::WrappedKernel;
  Status run(KernelContext& c) override;
};

}  // namespace emplace
