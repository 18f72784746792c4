/// FrameInterpreter: runs what only a run knows: instructions whose operands have no fixed place or whose shapes the
/// step settles, branches that are not taken (dead tensors), and loops.
///
/// A frame is a range of instructions: the program's own, or a loop's body, which is run again as long as a
/// NextIteration is alive. A call whose body stays a graph of its own would be one more kind of frame: see run_loop().
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/run/observer_feed.h"
#include "core/run/plain_loop_run.h"
#include "core/run/prepared_program.h"
#include "core/run/slot_operands.h"

namespace emplace {

/// Of one step at a time; instructions that do not depend on each other may be run by several threads.
class FrameInterpreter {
 public:
  /// All must outlive it. `feed` null: nobody watches.
  FrameInterpreter(PreparedProgram& p, SlotOperands& operands, ObserverFeed* feed);

  /// One instruction; a loop with all its body.
  Status run(InstructionId id);

  /// Of copies that were made here since this was set to 0.
  std::atomic<int64_t> copy_bytes{0};

  /// After SlotOperands::list_releases().
  void list_plain_loops();

 private:
  struct Loop {
    InstructionId instruction;
    std::vector<ValueId> entered;     // by its own Enters, not those of a loop inside it, and by copies beside them
    std::vector<ValueId> first_only;  // those of them that the body sees in its first iteration only
    std::vector<ValueId> fetched;     // and those that are results, too
    std::vector<ValueId> next;        // by NextIterations
    /// With other tasks: what tells, or hears, whether there is another iteration.
    InstructionId decides = kNoInstruction;
  };
  void list_loops();
  void add_to(Loop& loop, InstructionId inner) const;
  bool goes_on(const Loop& loop) const;
  uint64_t next_pass(InstructionId id) { return p_.program.instructions[id].in_loop ? passes_[id]++ : 0; }
  Status run_range(InstructionId begin, InstructionId end);
  Status run_loop(InstructionId id);
  Status run_kernel(InstructionId id);
  Status run_send(InstructionId id);
  Status run_receive(InstructionId id);
  Status check_received(ValueId v, const Tensor& value) const;
  /// Lets a copy be on its way when its kernel has run, if what it writes to, or reads, is left alone until then.
  /// Whoever watches waits for it.
  void let_arrive(InstructionId id);
  /// Returns when the value is there.
  Status arrive(ValueId v);
  Status release(InstructionId id);
  bool is_dead(const Instruction& s) const;
  void mark_dead(InstructionId id);

  PreparedProgram& p_;
  SlotOperands& operands_;
  ObserverFeed* feed_;
  std::vector<Loop> loops_;               // ascending
  std::vector<PlainLoopRun> plain_;       // of p_.plain_loops, in their order
  std::vector<uint8_t> dead_;             // by InstructionId: did not run in this step
  std::vector<uint64_t> passes_;          // by InstructionId, of transfers in loops: how often they ran in this step
  std::vector<GpuCopyKernel*> arriving_;  // by ValueId: what is on its way to the host; null: nothing
};

}  // namespace emplace
