/// WrappedKernel: what kernels have in common that do something around another one.
#pragma once

#include <memory>
#include <utility>

#include "core/op/kernel.h"

namespace emplace {

/// Prepared, and counted by the plan, as the kernel inside; run() is for who derives from this.
class WrappedKernel : public Kernel {
 public:
  explicit WrappedKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  Status prepare(KernelContext& c) override { return kernel_->prepare(c); }
  Workspace workspace() const override { return kernel_->workspace(); }

 protected:
  Status run_inside(KernelContext& c) { return kernel_->run(c); }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace emplace
