/// The kernel of a copy instruction: the same elements in another memory.
#pragma once

#include <atomic>

#include "core/op/kernel.h"

namespace emplace {

class CopyKernel final : public Kernel {
 public:
  /// `shares`: both ends are in host memory, so the buffer itself is handed on. `spent_ns` grows by what copying takes.
  CopyKernel(bool shares, std::atomic<int64_t>& spent_ns) : shares_(shares), spent_ns_(spent_ns) {}
  Status run(KernelContext& c) override;

 private:
  Status copy_list(KernelContext& c);

  bool shares_;
  std::atomic<int64_t>& spent_ns_;
};

}  // namespace emplace
