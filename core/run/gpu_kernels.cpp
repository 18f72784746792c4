#include "core/run/gpu_kernels.h"

#include "core/op/tensor_list.h"

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
  if (c.input(0).dtype() == DType::kVariant) return copy_list(c);
  if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, c.input(0).shape()));
  if (c.input(0).size_bytes() == 0 && !beside_) return ok_status();
  RETURN_IF_ERROR(make_events());
  if (beside_) return enqueue(c, !to_ ? Lane::kToHost : from_ ? Lane::kPeer : Lane::kToDevice);
  RETURN_IF_ERROR(enqueue(c, Lane::kCompute));
  if (!to_) return joined_ ? join() : ok_status();
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

Status GpuCopyKernel::enqueue(KernelContext& c, Lane lane) {
  RETURN_IF_ERROR(begin(lane));
  RETURN_IF_ERROR(move(c.input(0), c.output(0), lane));
  return worker().record(*copied_, lane);
}

// After what was enqueued before in the compute lanes of both ends; in the source's, after mark().
Status GpuCopyKernel::begin(Lane lane) {
  Gpu& gpu = worker();
  if (from_ && (from_ != &gpu || lane != Lane::kCompute)) {
    if (!marked_) RETURN_IF_ERROR(from_->record(*made_, Lane::kCompute));
    RETURN_IF_ERROR(gpu.wait_for(*made_, lane));
  }
  if (to_ && lane != Lane::kCompute) {
    RETURN_IF_ERROR(to_->record(*free_, Lane::kCompute));
    RETURN_IF_ERROR(to_->wait_for(*free_, lane));
  }
  return ok_status();
}

Status GpuCopyKernel::move(const Tensor& from, Tensor& to, Lane lane) {
  Gpu& gpu = worker();
  void* target = to.raw();
  const void* source = from.raw();
  const size_t bytes = from.size_bytes();
  if (!to_) {
    ASSIGN_OR_RETURN(ticket_, gpu.copy_out(target, source, bytes, lane));
  } else if (!from_) {
    ASSIGN_OR_RETURN(ticket_, gpu.copy_in(target, source, bytes, lane, from.buffer()));
  } else {
    RETURN_IF_ERROR(gpu.copy_peer(target, *from_, source, bytes, lane));
  }
  return ok_status();
}

// The list itself is the host's. What it holds is there when this returns, if the host gets it, and may be written
// over, if nobody owns it.
Status GpuCopyKernel::copy_list(KernelContext& c) {
  RETURN_IF_ERROR(make_events());
  const Shape shape = c.input(0).shape();
  ASSIGN_OR_RETURN(const TensorList* list, held_in(c.input(0)));
  TensorList copy = list->unset();
  RETURN_IF_ERROR(begin(Lane::kCompute));
  uint64_t last = 0;
  Status moved = move_elements(c, *list, copy, last, 0);
  if (moved.ok()) ticket_ = last;
  Status there = worker().finish(ticket_);  // of what has moved, even where not all has: the copy goes away
  RETURN_IF_ERROR(std::move(moved));
  RETURN_IF_ERROR(std::move(there));
  RETURN_IF_ERROR(worker().record(*copied_, Lane::kCompute));
  c.forward_output(0, list_tensor(std::move(copy), shape));
  return from_ && from_ != &worker() ? guard() : ok_status();
}

Status GpuCopyKernel::move_elements(KernelContext& c, const TensorList& list, TensorList& copy, uint64_t& last,
                                    int depth) {
  if (depth == kMostNestedLists) return nested_too_deep();
  Allocator& memory = to_ ? *c.allocator_ : *c.host_allocator_;
  for (int64_t i = list.elements.first(); i < list.elements.last(); ++i) {
    const Tensor& element = list.elements[i];
    if (!element.valid()) continue;
    Tensor& there = copy.elements.at(i);
    if (element.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(const TensorList* inner, held_in(element));
      TensorList inner_copy = inner->unset();
      RETURN_IF_ERROR(move_elements(c, *inner, inner_copy, last, depth + 1));
      there = list_tensor(std::move(inner_copy), element.shape());
      continue;
    }
    ASSIGN_OR_RETURN(there, memory.allocate(element.dtype(), element.shape()));
    if (element.size_bytes() == 0) continue;
    RETURN_IF_ERROR(move(element, there, Lane::kCompute));
    if (!to_ || !element.buffer()) last = ticket_;  // else who owns it shares it with the copy
  }
  return ok_status();
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
