/// GpuCopyOrder: lets copies between memories run beside other work of GPUs, each with the waits that this takes:
/// before its result is used, and before its source is written over.
#pragma once

#include <memory>
#include <vector>

#include "core/run/gpu_kernels.h"
#include "core/run/launch.h"
#include "core/run/memory_conflicts.h"
#include "core/run/prepared_program.h"

namespace emplace {

class GpuCopyOrder {
 public:
  /// All must outlive it.
  GpuCopyOrder(const PreparedProgram& p, const MemoryConflicts& conflicts) : p_(p), conflicts_(conflicts) {}

  /// Adds the waits to the launches. Once.
  void order(std::vector<Launch>& launches);

 private:
  /// By device: the instructions that are launched on a GPU.
  std::vector<std::vector<InstructionId>> by_gpu(const std::vector<Launch>& launches) const;

  const PreparedProgram& p_;
  const MemoryConflicts& conflicts_;
  std::vector<std::unique_ptr<Kernel>> waits_;
};

}  // namespace emplace
