/// TextKernel: wraps a kernel of strings, whose texts then count against the limit of host memory.
#pragma once

#include <memory>

#include "core/op/kernel.h"

namespace emplace {

/// Runs `kernel`; ResourceExhausted if the limit does not allow the texts that it makes.
class TextKernel final : public Kernel {
 public:
  explicit TextKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  Status prepare(KernelContext& c) override { return kernel_->prepare(c); }
  Status run(KernelContext& c) override;
  Workspace workspace() const override { return kernel_->workspace(); }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace emplace
