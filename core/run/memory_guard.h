/// MemoryGuard: whose memory an address is. With simulated GPUs, whose kernels could read every address, an instruction
/// that is given one of another memory than its operand's fails before it reads: a copy that was forgotten is never a
/// silent read.
#pragma once

#include <cstddef>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/runtime.h"

namespace emplace {

class MemoryGuard {
 public:
  /// Both must outlive it.
  MemoryGuard(const Program& program, const Runtime& runtime);

  /// Is there a simulated GPU to guard?
  bool needed() const { return needed_; }
  /// Where a program's planned tensors lie, by DeviceId.
  void set_blocks(const std::vector<std::byte*>& blocks, const std::vector<DevicePlan>& plans);

  /// Internal: `tensor`, which stands for the value, is in another memory than the value's home.
  Status check(ValueId v, const Tensor& tensor) const;
  /// Internal: the variable that an instruction on `device` has a handle of is another device's.
  Status check_variable(DeviceId device, Variable& variable) const;

 private:
  /// The simulated GPU in whose memory the address is, else kNoDevice: host memory.
  DeviceId owner(const void* address) const;
  bool is_guarded(DeviceId d) const { return pools_[d] != nullptr; }

  struct Range {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
  };
  const Program& program_;
  const Runtime& runtime_;
  bool needed_ = false;
  std::vector<const class MemoryPool*> pools_;  // by DeviceId; null: not simulated
  std::vector<Range> blocks_;
};

}  // namespace emplace
