#include "core/run/gpu_kernels.h"

namespace emplace {

using Lane = Gpu::Lane;

Status GpuNodeKernel::prepare(KernelContext& c) {
  RETURN_IF_ERROR(gpu_.activate());
  return kernel_->prepare(c);
}

Status GpuNodeKernel::run(KernelContext& c) {
  RETURN_IF_ERROR(gpu_.activate());
  RETURN_IF_ERROR(kernel_->run(c));
  return waits_ ? gpu_.wait_idle() : ok_status();
}

Status GpuCopyKernel::run(KernelContext& c) {
  if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, c.input(0).shape()));
  ticket_ = 0;
  if (c.input(0).size_bytes() == 0 && !beside_) return ok_status();
  RETURN_IF_ERROR(make_events());
  if (beside_) return enqueue(c, !to_ ? Lane::kToHost : from_ ? Lane::kPeer : Lane::kToDevice);
  RETURN_IF_ERROR(enqueue(c, Lane::kCompute));
  if (!to_) return join();
  if (!from_ && c.input(0).buffer()) ticket_ = 0;  // who owns it shares it with the copy
  return guarded_ ? ok_status() : guard();
}

Status GpuCopyKernel::make_events() {
  if (copied_) return ok_status();
  ASSIGN_OR_RETURN(made_, (from_ ? from_ : to_)->make_event());
  ASSIGN_OR_RETURN(free_, worker().make_event());
  ASSIGN_OR_RETURN(copied_, worker().make_event());
  return ok_status();
}

Status GpuCopyKernel::mark() {
  RETURN_IF_ERROR(make_events());
  marked_ = true;
  return from_->record(*made_, Lane::kCompute);
}

// After what was enqueued before in the compute lanes of both ends; in the source's, after mark().
Status GpuCopyKernel::enqueue(KernelContext& c, Lane lane) {
  Gpu& gpu = worker();
  if (from_ && (from_ != &gpu || lane != Lane::kCompute)) {
    if (!marked_) RETURN_IF_ERROR(from_->record(*made_, Lane::kCompute));
    RETURN_IF_ERROR(gpu.wait_for(*made_, lane));
  }
  if (to_ && lane != Lane::kCompute) {
    RETURN_IF_ERROR(to_->record(*free_, Lane::kCompute));
    RETURN_IF_ERROR(to_->wait_for(*free_, lane));
  }
  void* target = c.output(0).raw();
  const void* source = c.input(0).raw();
  size_t bytes = c.input(0).size_bytes();
  if (!to_) {
    ASSIGN_OR_RETURN(ticket_, gpu.copy_out(target, source, bytes, lane));
  } else if (!from_) {
    ASSIGN_OR_RETURN(ticket_, gpu.copy_in(target, source, bytes, lane, c.input(0).buffer()));
  } else {
    RETURN_IF_ERROR(gpu.copy_peer(target, *from_, source, bytes, lane));
  }
  return gpu.record(*copied_, lane);
}

Status GpuCopyKernel::join() { return to_ ? to_->wait_for(*copied_, Lane::kCompute) : from_->finish(ticket_); }

Status GpuCopyKernel::guard() { return from_ ? from_->wait_for(*copied_, Lane::kCompute) : to_->finish(ticket_); }

Status copy_to_host(Gpu& gpu, const void* from, Tensor& host) {
  if (host.size_bytes() == 0) return ok_status();
  ASSIGN_OR_RETURN(uint64_t ticket, gpu.copy_out(host.raw(), from, host.size_bytes(), Lane::kCompute));
  return gpu.finish(ticket);
}

Result<Tensor> copy_to_host(Gpu& gpu, const Tensor& value) {
  ASSIGN_OR_RETURN(Tensor host, Tensor::allocate(value.dtype(), value.shape()));
  RETURN_IF_ERROR(copy_to_host(gpu, value.raw(), host));
  return host;
}

}  // namespace emplace
