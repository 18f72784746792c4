#include "core/run/prepared_program.h"

#include <algorithm>

#include "core/base/printable.h"
#include "core/plan/blamed_node.h"
#include "core/plan/planned_memory.h"
#include "core/run/live_set.h"

namespace emplace {

PreparedProgram::PreparedProgram(const GraphFile& graph_file, const DeviceSet& device_set, Program cut, Runtime& shared,
                                 ProgramThreads allowed)
    : file(graph_file),
      devices(device_set),
      plain_loops(shared.observer ? std::vector<PlainLoop>() : find_plain_loops(graph_file.graph, device_set, cut)),
      program(std::move(cut)),
      runtime(shared),
      threads(allowed),
      bound(program.instructions.size()),
      values(program.values.size()),
      operands(program.operands.size()),
      guard(program, runtime) {}

Result<Gpu*> PreparedProgram::use_gpu(DeviceId device) {
  auto at = std::lower_bound(gpus.begin(), gpus.end(), device);
  if (at == gpus.end() || *at != device) gpus.insert(at, device);
  return runtime.gpu(device);
}

Result<Gpu*> PreparedProgram::gpu_of(ValueId v) {
  const PlacedValue& value = program.values[v];
  const DeviceId home = is_ref(value.dtype) ? value.device : value.home;
  if (!on_cuda(home)) return static_cast<Gpu*>(nullptr);
  return use_gpu(home);
}

Status PreparedProgram::prepare_kernel(InstructionId id) {
  BoundInstruction& b = bound[id];
  Status status = b.kernel->prepare(b.context);
  b.prepared = status.ok();
  return status;
}

bool PreparedProgram::has_room_for(const Plan& other, int64_t times) const {
  for (DeviceId d = 0; d < devices.size(); ++d) {
    const int64_t limit = runtime.pools[d]->usable();
    if (runtime.pools[d]->limit() == 0) continue;
    int64_t to_come = declared_variable_bytes(file.graph, program, d);
    for (const auto& [name, bytes] : runtime.variables[d]->sizes()) to_come -= bytes;
    const int64_t room = limit - runtime.pools[d]->persistent_bytes() - std::max<int64_t>(0, to_come);
    if (other.devices[d].bytes > room / times) return false;
  }
  return true;
}

const Transfer& PreparedProgram::transfer(InstructionId id) const {
  return *std::lower_bound(program.transfers.begin(), program.transfers.end(), id,
                           [](const Transfer& t, InstructionId wanted) { return t.instruction < wanted; });
}

Status PreparedProgram::blame(Status status, InstructionId id) const {
  if (status.code() == Code::kResourceExhausted) {
    InstructionId none = kNoInstruction;
    exhausted.compare_exchange_strong(none, id);
  }
  if (status.ok() || status.code() == Code::kCancelled || status.code() == Code::kDeadlineExceeded) return status;
  // What a kernel says may hold names and values of the graph.
  if (status.node().empty()) status = Status(status.code(), printable(status.message())).blamed(status.blame());
  return attach_node(std::move(status), file.graph.name(program.instructions[id].node));
}

Status PreparedProgram::with_live_set(Status status) const {
  const InstructionId at = exhausted.exchange(kNoInstruction);
  if (status.code() != Code::kResourceExhausted || at == kNoInstruction) return status;
  std::string message = status.message() + live_set_text(file.graph, program, plan, runtime, at, values);
  return resource_exhausted(std::move(message)).blamed(status.blame()).at_node(status.node());
}

}  // namespace emplace
