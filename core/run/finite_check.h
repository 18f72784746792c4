/// FiniteCheck: wraps a kernel and fails the step if one of its outputs holds a NaN or an infinity.
#pragma once

#include <memory>
#include <string>

#include "core/op/kernel.h"

namespace emplace {

/// Runs `kernel`; DataLoss if an element of its outputs is NaN or infinite.
class FiniteCheck final : public Kernel {
 public:
  explicit FiniteCheck(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  Status prepare(KernelContext& c) override { return kernel_->prepare(c); }
  Status run(KernelContext& c) override;
  Workspace workspace() const override { return kernel_->workspace(); }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace emplace
