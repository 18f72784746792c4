/// PlainLoopRun: runs a loop of which it is known when its nodes run (core/plan/plain_loops.h): their kernels in order,
/// and between them what the loop hands from one iteration to the next.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/run/prepared_program.h"
#include "core/run/slot_operands.h"

namespace emplace {

/// Of one step at a time.
class PlainLoopRun {
 public:
  /// All must outlive it. After SlotOperands::list_releases().
  PlainLoopRun(PreparedProgram& p, SlotOperands& operands, const PlainLoop& loop);

  /// Once the Enters have run.
  Status run();

 private:
  enum class Does : uint8_t { kDirect, kKernel, kMerge, kSwitch, kDecide, kRelease };
  struct Part {
    Does does;
    Turn turn;
    InstructionId instruction;
    const LoopVariable* variable = nullptr;  // of a Merge
    Kernel* kernel = nullptr;                // of what is direct
  };
  /// A kernel whose operands are bound for good, but for those that arrive.
  void list_direct(Kernel& kernel, std::span<const InstructionId> instructions, Turn turn);
  void list(InstructionId id, Turn turn);
  Status run_iteration(bool is_first, bool& goes_on);
  Status run_kernel(InstructionId id);
  void merge(const LoopVariable& variable, bool is_first);

  PreparedProgram& p_;
  SlotOperands& operands_;
  const PlainLoop& loop_;
  std::vector<Part> parts_;
  std::vector<std::unique_ptr<Kernel>> made_;  // fused ones, and what is launched around others
  std::vector<ValueId> own_;                   // slots that are empty outside of the loop
};

}  // namespace emplace
