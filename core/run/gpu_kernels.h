/// Kernels of steps that involve a GPU: a node's own kernel with its device made current, and copies between memories.
#pragma once

#include <memory>

#include "core/device/gpu.h"
#include "core/op/kernel.h"

namespace emplace {

/// A node's kernel on a GPU. With `waits` every run ends when its work is done, so that its failure is known.
class GpuNodeKernel final : public Kernel {
 public:
  GpuNodeKernel(std::unique_ptr<Kernel> kernel, Gpu& gpu, bool waits) : kernel_(std::move(kernel)), gpu_(gpu), waits_(waits) {}
  Status prepare(KernelContext& c) override;
  Status run(KernelContext& c) override;

 private:
  std::unique_ptr<Kernel> kernel_;
  Gpu& gpu_;
  bool waits_;
};

/// The same elements in another memory, one of them a GPU's (null: the host's). The result is ordered before all later
/// work of its GPU, or is there when run() returns, if it is in host memory; later work of the source's GPU comes
/// after the copy.
class GpuCopyKernel final : public Kernel {
 public:
  GpuCopyKernel(Gpu* from, Gpu* to) : from_(from), to_(to) {}
  Status run(KernelContext& c) override;

 private:
  Status copy_between(KernelContext& c);

  Gpu *from_, *to_;
  std::unique_ptr<GpuEvent> made_, copied_;
};

/// Fills `host` from a GPU's memory, after everything enqueued so far, and returns when it is there.
Status copy_to_host(Gpu& gpu, const void* from, Tensor& host);
Result<Tensor> copy_to_host(Gpu& gpu, const Tensor& value);

}  // namespace emplace
