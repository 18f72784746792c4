#include "core/run/session_variables.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/base/cat.h"
#include "core/run/exchange.h"
#include "core/run/gpu_kernels.h"
#include "core/tensor/mapped_buffer.h"
#include "core/tensor/texts.h"

namespace emplace {

Status write_over(Tensor& to, const Tensor& from) {
  if (from.dtype() == DType::kString) return copy_texts(from, to);
  if (from.size_bytes() > 0) std::memcpy(to.raw(), from.raw(), from.size_bytes());
  return ok_status();
}

DeviceId SessionVariables::device_of(NodeId node) const {
  const DeviceId device = placement_.device(node);
  return share_ ? share_->own_device[device] : device;
}

Result<Tensor> SessionVariables::read(NodeId node) {
  Variable& v = state_of(node);
  const DeviceId device = device_of(node);
  const GpuTurn turn(runtime_, gpus_of(device));
  std::lock_guard lock(v.mutex);
  if (v.value.valid() && turn.empty() && !is_aligned(v.value)) {  // shared with who only takes rows
    ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(v.value.dtype(), v.value.shape()));
    std::memcpy(copy.raw(), v.value.raw(), v.value.size_bytes());
    return copy;
  }
  if (!v.value.valid() || turn.empty()) return v.value;
  ASSIGN_OR_RETURN(Gpu * gpu, runtime_.gpu(device));
  return copy_to_host(*gpu, v.value);
}

Status SessionVariables::set(NodeId node, const Tensor& value) {
  Variable& v = state_of(node);
  const DeviceId device = device_of(node);
  const GpuTurn turn(runtime_, gpus_of(device));
  std::lock_guard lock(v.mutex);
  ASSIGN_OR_RETURN(v.value, runtime_.pools[device]->allocate_persistent(value.dtype(), value.shape()));
  const auto* mapped = dynamic_cast<const MappedBuffer*>(value.buffer().get());
  if (turn.empty() && mapped) return mapped->move_out(v.value.raw(), parallel_), ok_status();
  if (turn.empty()) return write_over(v.value, value);
  ASSIGN_OR_RETURN(Gpu * gpu, runtime_.gpu(device));
  ASSIGN_OR_RETURN(const uint64_t ticket,
                   gpu->copy_in(v.value.raw(), value.raw(), value.size_bytes(), Gpu::Lane::kCompute, value.buffer()));
  return value.buffer() ? ok_status() : gpu->finish(ticket);  // who owns it shares it with the copy
}

Status SessionVariables::share(NodeId node, const Tensor& value) {
  if (runtime_.is_shared) return set(node, value);  // the variable outlives the session, and what it was given
  if (devices_.at(device_of(node)).kind != DeviceKind::kCpu) return set(node, value);
  if (!dynamic_cast<const MappedBuffer*>(value.buffer().get()))
    return set(node, value);  // the device's memory counts it
  Variable& v = state_of(node);
  std::lock_guard lock(v.mutex);
  v.value = value;
  shared_.push_back(value);  // held here, too: whoever assigns to the variable does so into memory of its own
  return ok_status();
}

Result<std::optional<TableContents>> SessionVariables::read_table(NodeId node) {
  Variable& keeper = keeper_of(node);
  std::lock_guard lock(keeper.mutex);
  SessionTable* table = kept_table(keeper);
  if (!table) return std::optional<TableContents>();
  return table->contents();
}

Status SessionVariables::set_table(NodeId node, const TableContents& contents) {
  Variable& keeper = keeper_of(node);
  std::lock_guard lock(keeper.mutex);
  SessionTable* table = kept_table(keeper);
  if (!table) return failed_precondition(cat("table '", keeper.name, "' is not made yet"));
  return table->set_contents(contents);
}

std::span<const DeviceId> SessionVariables::gpus_of(const DeviceId& device) const {
  return {&device, devices_.at(device).kind == DeviceKind::kCuda ? size_t{1} : 0};
}

Variable& SessionVariables::state_of(NodeId node) const {
  Attrs attrs = file_.graph.attrs(node);
  const std::string& shared = attrs.text("shared_name");
  return runtime_.variables[device_of(node)]->find_or_create(
      attrs.text("container"), shared.empty() ? std::string(file_.graph.name(node)) : shared, attrs.type("dtype"),
      attrs.shape("shape"));
}

Variable& SessionVariables::keeper_of(NodeId node) const {
  return table_keeper(*runtime_.variables[device_of(node)], file_.graph.attrs(node), file_.graph.name(node));
}

}  // namespace emplace
