/// Kernels of instructions that involve a GPU: a node's own kernel with its device made current, and copies between
/// memories.
#pragma once

#include <memory>

#include "core/device/gpu.h"
#include "core/op/kernel.h"

namespace emplace {

struct TensorList;

/// A node's kernel on a GPU. With `waits` every run ends when its work is done, so that its failure is known.
class GpuNodeKernel final : public Kernel {
 public:
  GpuNodeKernel(std::unique_ptr<Kernel> kernel, Gpu& gpu, bool waits)
      : kernel_(std::move(kernel)), gpu_(gpu), waits_(waits) {}
  Status prepare(KernelContext& c) override;
  Status run(KernelContext& c) override;
  Workspace workspace() const override { return kernel_->workspace(); }
  Gpu& gpu() const { return gpu_; }
  const Kernel& kernel() const { return *kernel_; }

 private:
  std::unique_ptr<Kernel> kernel_;
  Gpu& gpu_;
  bool waits_;
};

/// The same elements in another memory, one of them a GPU's (null: the host's). Of a list, the elements of its tensors.
///
/// Until run_beside() is called the copy is ordered with all other work: later work of either GPU comes after it, and
/// what is in host memory is there when run() returns, and may be written over if nobody owns it. Afterwards it runs in
/// a lane of its own, after what was enqueued before, and whoever uses the result or overwrites the source calls join()
/// or guard() first.
class GpuCopyKernel final : public Kernel {
 public:
  GpuCopyKernel(Gpu* from, Gpu* to) : from_(from), to_(to) {}
  Status run(KernelContext& c) override;

  void run_beside() { beside_ = true; }
  /// As before run_beside(), but somebody calls guard() before what is in host memory is written over.
  void guard_later() { guarded_ = true; }
  /// As before run_beside(), but somebody calls join() before what gets to host memory is read, or given up.
  void join_later() { joined_ = false; }
  bool joins_later() const { return !joined_; }
  bool from_host() const { return from_ == nullptr; }
  bool to_host() const { return to_ == nullptr; }
  /// The source has been enqueued: run(), which may come much later, waits for no more than that. REQUIRES: not
  /// from_host().
  Status mark();
  /// The result may be read, and written over.
  Status join();
  /// The source may be written over.
  Status guard();

 private:
  Status make_events();
  Status enqueue(KernelContext& c, Gpu::Lane lane);
  /// Lets `lane` come after what the source and the target wait for.
  Status begin(Gpu::Lane lane);
  /// The elements of `from` to those of `to`.
  Status move(const Tensor& from, Tensor& to, Gpu::Lane lane);
  Status copy_list(KernelContext& c);
  /// `last`: the ticket of the last element that somebody has to wait for.
  Status move_elements(KernelContext& c, const TensorList& list, TensorList& copy, uint64_t& last, int depth);
  Gpu& worker() { return to_ ? *to_ : *from_; }

  Gpu *from_, *to_;
  bool beside_ = false, guarded_ = false, joined_ = true, marked_ = false;
  uint64_t ticket_ = 0;
  std::unique_ptr<GpuEvent> made_, free_, copied_;  // source there, target free to be written; the copy is done
};

/// A copy's mark(), join() or guard(), where it belongs among the launches.
class GpuCopyCall final : public Kernel {
 public:
  GpuCopyCall(GpuCopyKernel& copy, Status (GpuCopyKernel::*call)()) : copy_(copy), call_(call) {}
  Status run(KernelContext&) override { return (copy_.*call_)(); }

 private:
  GpuCopyKernel& copy_;
  Status (GpuCopyKernel::*call_)();
};

/// Fills `host` from a GPU's memory, after everything enqueued so far, and returns when it is there.
Status copy_to_host(Gpu& gpu, const void* from, Tensor& host);
Result<Tensor> copy_to_host(Gpu& gpu, const Tensor& value);

}  // namespace emplace
