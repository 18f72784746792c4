/// The kernel of a copy step: the same elements in another memory.
#pragma once

#include "core/op/kernel.h"

namespace emplace {

class CopyKernel final : public Kernel {
 public:
  /// `shares`: both ends are in host memory, so the buffer itself is handed on.
  explicit CopyKernel(bool shares) : shares_(shares) {}
  Status run(KernelContext& c) override;

 private:
  bool shares_;
};

}  // namespace emplace
