#include "core/run/gpu_kernels.h"

namespace emplace {

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
  if (c.input(0).size_bytes() == 0) return ok_status();
  if (!to_) return copy_to_host(*from_, c.input(0).raw(), c.output(0));
  if (from_) return copy_between(c);
  return to_->copy_in(c.output(0).raw(), c.input(0).raw(), c.input(0).size_bytes(), Gpu::Lane::kCompute);
}

Status GpuCopyKernel::copy_between(KernelContext& c) {
  if (!made_) {
    ASSIGN_OR_RETURN(made_, from_->make_event());
    ASSIGN_OR_RETURN(copied_, to_->make_event());
  }
  RETURN_IF_ERROR(from_->record(*made_, Gpu::Lane::kCompute));
  RETURN_IF_ERROR(to_->wait_for(*made_, Gpu::Lane::kCompute));
  RETURN_IF_ERROR(to_->copy_peer(c.output(0).raw(), *from_, c.input(0).raw(), c.input(0).size_bytes(), Gpu::Lane::kCompute));
  RETURN_IF_ERROR(to_->record(*copied_, Gpu::Lane::kCompute));
  return from_->wait_for(*copied_, Gpu::Lane::kCompute);
}

Status copy_to_host(Gpu& gpu, const void* from, Tensor& host) {
  if (host.size_bytes() == 0) return ok_status();
  ASSIGN_OR_RETURN(uint64_t ticket, gpu.copy_out(host.raw(), from, host.size_bytes(), Gpu::Lane::kCompute));
  return gpu.finish(ticket);
}

Result<Tensor> copy_to_host(Gpu& gpu, const Tensor& value) {
  ASSIGN_OR_RETURN(Tensor host, Tensor::allocate(value.dtype(), value.shape()));
  RETURN_IF_ERROR(copy_to_host(gpu, value.raw(), host));
  return host;
}

}  // namespace emplace
