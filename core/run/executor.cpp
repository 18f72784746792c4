#include "core/run/executor.h"

#include "core/base/flush_denormals.h"
#include "core/base/stop.h"
#include "core/partition/copy_kind.h"
#include "core/run/binding.h"
#include "core/run/fused_groups.h"
#include "core/run/prepare.h"

namespace emplace {
namespace {

// Bytes per step of the copies between devices whose shapes are known before the run; the interpreter counts the
// others.
int64_t settled_copy_bytes(const Program& program, const Plan& plan) {
  int64_t bytes = 0;
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    const Instruction& s = program.instructions[id];
    const bool settled = plan.modes[id] == InstructionMode::kSkip || plan.modes[id] == InstructionMode::kDirect;
    if (s.kind != InstructionKind::kCopy || !settled || copy_kind(program, s) != CopyKind::kEdge) continue;
    const size_t element = dtype_size(program.values[program.outputs(s)[0]].dtype);
    bytes += plan.values[program.inputs(s)[0]].shape.num_elements() * static_cast<int64_t>(element);
  }
  return bytes;
}

}  // namespace

Executor::Executor(const GraphFile& file, const DeviceSet& devices, Program program, Runtime& runtime,
                   ProgramThreads threads)
    : prepared_(file, devices, std::move(program), runtime, threads),
      feed_(runtime.observer ? std::make_unique<ObserverFeed>(prepared_, *runtime.observer) : nullptr),
      operands_(prepared_),
      interpreter_(prepared_, operands_, feed_.get()),
      gpu_(prepared_, operands_, interpreter_),
      launches_(prepared_, interpreter_, feed_.get()),
      fetcher_(prepared_, operands_) {}

Status Executor::prepare(const std::vector<Tensor>& feeds) {
  RETURN_IF_ERROR(emplace::prepare(prepared_, feeds));
  if (!feed_) find_groups(prepared_.program, prepared_.bound, prepared_.plain_loops, prepared_.plan);
  RETURN_IF_ERROR(stop_status());
  gpu_.fuse();
  if (prepared_.gpus.empty())
    launches_.lay_out();
  else
    gpu_.lay_out();
  RETURN_IF_ERROR(stop_status());
  count_workspaces(prepared_, launches_.at_once());
  gpu_.count_scratch();
  settled_copy_bytes_ = settled_copy_bytes(prepared_.program, prepared_.plan);
  for (ValueId v : prepared_.program.fetches)
    RETURN_IF_ERROR(prepared_.gpu_of(v).status());  // a variable's, whose GPU no instruction is on
  return ok_status();
}

Status Executor::bind(const std::vector<std::byte*>& blocks) {
  RETURN_IF_ERROR(bind_memory(prepared_, blocks));
  operands_.list_releases();
  interpreter_.list_plain_loops();
  launches_.fill(gpu_, operands_);
  return ok_status();
}

Status Executor::run(int64_t step) {
  FlushDenormals flush;
  const GpuTurn turn(prepared_.runtime, prepared_.gpus);
  has_run_ = true;
  interpreter_.copy_bytes = 0;
  if (Status status = launches_.run(step); !status.ok()) {
    status = prepared_.with_live_set(std::move(status));
    (void)prepared_.runtime.wait_for_gpus(prepared_.gpus);  // copies under way use memory that may go now
    return status;
  }
  RETURN_IF_ERROR(prepared_.runtime.wait_for_gpus(prepared_.gpus));
  return prepared_.runtime.stop.status();
}

}  // namespace emplace
