/// run_kernel(): how kernels are run by everybody who runs them.
#pragma once

#include "core/base/host_allocator.h"
#include "core/op/kernel.h"

namespace emplace {

/// ResourceExhausted, too, where the limit of host memory ended the growth of a list or a table.
inline Status run_kernel(Kernel& kernel, KernelContext& c) {
  try {
    return kernel.run(c);
  } catch (const OutOfHostMemory& refused) {
    return resource_exhausted(refused.what());
  }
}

}  // namespace emplace
