/// PreparedProgram: a program with all that a step of it needs, but for a thread: the plan, a kernel for each
/// instruction, the tensors that they read and write, and the memory in which these lie. It runs nothing by itself.
///
///   core/run/make_kernel.h        a kernel for each instruction: of the op, of a GPU, of a copy
///   core/run/prepare.h            makes one of a program: shapes, kernels, how much memory kernels take
///   core/run/binding.h            gives it memory
///   core/run/launch_list.h        runs it: in order, or what is independent in parallel
///   core/run/frame_interpreter.h  runs what only a run knows: loops, dead tensors, shapes
///   core/run/plain_loop_run.h     runs loops of which more is known
///   core/run/gpu_launcher.h       makes fewer and better ordered launches of it where GPUs are involved
///   core/run/executor.h           all of these together
///
/// A send or a receive has no kernel: the frame interpreter asks the Runtime's Exchange (core/run/exchange.h).
///
/// Who adds
///   - a call whose body runs as a graph of its own: an InstructionKind with a PreparedProgram of the body beside it,
///     run by the frame interpreter, as it runs a loop's body.
///   - steps in flight: a PreparedProgram for each, of one Program and one Runtime. Values, operands and contexts hold
///     what one step works on; variables, pools and random streams, which steps share, are the Runtime's.
#pragma once

#include <atomic>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/plan/plain_loops.h"
#include "core/plan/plan.h"
#include "core/run/bound_instruction.h"
#include "core/run/memory_guard.h"
#include "core/run/runtime.h"

namespace emplace {

struct PreparedProgram {
  /// Nothing is prepared yet. All arguments must outlive it.
  PreparedProgram(const GraphFile& file, const DeviceSet& devices, Program program, Runtime& runtime,
                  ProgramThreads threads);

  /// The GPU of kind kCuda, which from now on is one of those that the program uses.
  Result<Gpu*> use_gpu(DeviceId device);
  /// The GPU in whose memory a value is (a reference: its variable); null: host memory, or a simulated GPU's.
  Result<Gpu*> gpu_of(ValueId v);
  bool on_cuda(DeviceId device) const { return devices.at(device).kind == DeviceKind::kCuda; }

  /// The kernel sees its operands' shapes, as they are in its context now.
  Status prepare_kernel(InstructionId id);
  /// Is there room for `times` blocks of this plan beside the variables, which may not be there yet?
  bool has_room_for(const Plan& other, int64_t times = 1) const;

  /// REQUIRES: a kSend or kReceive.
  const Transfer& transfer(InstructionId id) const;

  /// The status with the instruction's node, as TensorFlow attaches it. Any thread.
  Status blame(Status status, InstructionId id) const;
  /// Of a step whose threads have all stopped: what was live where it ran out of memory.
  Status with_live_set(Status status) const;

  const GraphFile& file;
  const DeviceSet& devices;
  std::vector<PlainLoop> plain_loops;  // ascending; none before an observer
  const Program program;
  Runtime& runtime;
  const ProgramThreads threads;
  Plan plan;

  std::vector<BoundInstruction> bound;  // by InstructionId
  std::vector<Tensor> values;           // by ValueId; a slot's changes as the step goes on
  std::vector<Tensor> operands;         // as in the program: what contexts show to kernels
  std::vector<DeviceId> gpus;           // of kind kCuda that instructions enqueue on, ascending
  MemoryGuard guard;
  mutable std::atomic<InstructionId> exhausted{kNoInstruction};  // the first that found no memory
};

}  // namespace emplace
