#include "core/run/memory_guard.h"

#include "core/base/cat.h"
#include "core/device/memory_pool.h"

namespace emplace {

MemoryGuard::MemoryGuard(const Program& program, const Runtime& runtime)
    : program_(program), runtime_(runtime), blocks_(runtime.devices.size()) {
  for (DeviceId d = 0; d < runtime.devices.size(); ++d) {
    const Device& device = runtime.devices.at(d);
    bool simulated = device.type != "CPU" && device.kind != DeviceKind::kCuda;
    pools_.push_back(simulated ? static_cast<const MemoryPool*>(runtime.pools[d].get()) : nullptr);
    needed_ |= simulated;
  }
}

void MemoryGuard::set_blocks(const std::vector<std::byte*>& blocks, const std::vector<DevicePlan>& plans) {
  for (DeviceId d = 0; d < blocks.size(); ++d) {
    if (is_guarded(d)) blocks_[d] = {blocks[d], blocks[d] + plans[d].bytes};
  }
}

DeviceId MemoryGuard::owner(const void* address) const {
  for (DeviceId d = 0; d < pools_.size(); ++d) {
    if (!is_guarded(d)) continue;
    if ((address >= blocks_[d].begin && address < blocks_[d].end) || pools_[d]->contains(address)) return d;
  }
  return kNoDevice;
}

Status MemoryGuard::check(ValueId v, const Tensor& tensor) const {
  if (tensor.raw() == nullptr || tensor.size_bytes() == 0 || tensor.dtype() == DType::kString) return ok_status();
  if (is_ref(tensor.dtype()) || tensor.dtype() == DType::kResource || tensor.dtype() == DType::kVariant)
    return ok_status();
  const PlacedValue& value = program_.values[v];
  const DeviceId home = value.home, found = owner(tensor.raw());
  // What a reference refers to lies where its variable is; some of a GPU's variables (of int32) are in host memory.
  if (is_ref(value.dtype) && (found == kNoDevice || found == value.device)) return ok_status();
  if (found == (is_guarded(home) ? home : kNoDevice)) return ok_status();
  auto name = [&](DeviceId d) {
    return d == kNoDevice ? std::string_view("host") : std::string_view(runtime_.devices.at(d).name);
  };
  return internal_error(cat("a tensor that lives in ", name(is_guarded(home) ? home : kNoDevice),
                            " memory was found in ", name(found), " memory: a copy is missing"));
}

Status MemoryGuard::check_variable(DeviceId device, Variable& variable) const {
  const void* address;
  {
    std::lock_guard lock(variable.mutex);
    address = variable.value.valid() ? variable.value.raw() : nullptr;
  }
  DeviceId found = address ? owner(address) : kNoDevice;
  if (found == kNoDevice || found == device) return ok_status();
  return internal_error(cat("variable ", variable.name, " of ", runtime_.devices.at(found).name, " used by a step on ",
                            runtime_.devices.at(device).name));
}

}  // namespace emplace
