#include "core/plan/planned_memory.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/device/memory_pool.h"
#include "core/partition/partition.h"
#include "core/plan/host_tensors.h"
#include "core/plan/live_list.h"
#include "core/plan/memory_plan.h"
#include "core/plan/output_rule.h"
#include "core/plan/settle.h"
#include "core/plan/undone_transposes.h"
#include "core/plan/workspaces.h"

namespace emplace {
namespace {

/// Elements are host objects (handles, strings) and take no bytes in a device's memory.
bool weightless(DType t) { return is_ref(t) || t == DType::kResource || t == DType::kString; }

struct DeclaredVariable {
  DeviceId device;
  DType dtype;
  const Shape& shape;
  std::string name;
};

/// Those that the program's nodes name, each once.
std::vector<DeclaredVariable> declared_variables(const Graph& graph, const Program& program) {
  std::set<std::tuple<DeviceId, std::string, std::string>> seen;  // with container and name
  std::vector<DeclaredVariable> out;
  for (const Instruction& s : program.instructions) {
    if (s.kind != InstructionKind::kNode || !graph.traits(s.node).variable) continue;
    const Attrs attrs = graph.attrs(s.node);
    const std::string& shared = attrs.text("shared_name");
    std::string name = shared.empty() ? std::string(graph.name(s.node)) : shared;
    if (seen.emplace(s.device, attrs.text("container"), name).second)
      out.push_back({s.device, attrs.type("dtype"), attrs.shape("shape"), std::move(name)});
  }
  return out;
}

/// What a tensor of its own takes of a pool, if anybody knows.
std::optional<int64_t> footprint(DType dtype, const Shape& shape) {
  const std::optional<int64_t> elements = shape.fully_known() ? shape.checked_num_elements() : std::nullopt;
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(storage_size(dtype)), &bytes))
    return std::nullopt;
  return MemoryPool::footprint(bytes);
}

/// Do the CPU's kernels run there?
bool runs_cpu_kernels(const Device& device) { return device.kind == DeviceKind::kSimulatedGpu || device.type == "CPU"; }

class MemoryCounter {
 public:
  MemoryCounter(const Graph& graph, const DeviceSet& devices, const Program& program, const Plan& plan)
      : graph_(graph),
        devices_(devices),
        program_(program),
        plan_(plan),
        memory_(devices.size()),
        live_(devices.size()) {
    for (DeviceId d = 0; d < devices.size(); ++d) {
      memory_[d].block = plan.devices[d].bytes;
      for (const auto& [v, bytes] : plan.devices[d].live_at_peak)
        live_[d].add(graph.name(program.values[v].tensor.node), bytes);
    }
    list_rests(kRestOfBlock, &PlannedMemory::block);
  }

  std::vector<PlannedMemory> count() {
    for (const DeclaredVariable& v : declared_variables(graph_, program_))
      add(&PlannedMemory::variables, v.device, v.dtype, v.shape, v.name);
    list_rests(kRestOfVariables, &PlannedMemory::variables);
    add_host_tensors();
    for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
      const Instruction& s = program_.instructions[id];
      if (s.kind == InstructionKind::kLoop) continue;
      for (ValueId v : program_.outputs(s)) add_value(s, v);
      if (runs_cpu_kernels(devices_.at(s.device))) {
        add_workspace(s.device, workspace_of(graph_, program_, plan_, id));
      } else if (s.kind == InstructionKind::kNode) {
        memory_[s.device].workspaces = false;
      }
    }
    list_rests(kRestOfConstants, &PlannedMemory::constants);
    list_rests(kRestOfPool, &PlannedMemory::scratch);
    for (DeviceId d = 0; d < devices_.size(); ++d) memory_[d].live_at_peak = live_[d].take();
    return std::move(memory_);
  }

 private:
  void list_rests(std::string_view what, int64_t PlannedMemory::*column) {
    for (DeviceId d = 0; d < devices_.size(); ++d) live_[d].add_rest(what, memory_[d].*column);
  }

  void add_host_tensors() {
    std::set<const void*> seen;
    LiveList& live = live_[program_.host];
    memory_[program_.host].constants += list_constants(graph_, live) + list_once(graph_, program_, plan_, live) +
                                        list_feeds(graph_, program_, plan_, seen, live);
  }

  void add_value(const Instruction& s, ValueId v) {
    const PlacedValue& value = program_.values[v];
    const ValuePlan& planned = plan_.values[v];
    switch (planned.storage) {
      case Storage::kBlock:
      case Storage::kTile:
        return;
      case Storage::kFixed:
        if (value.home != program_.host)
          add(&PlannedMemory::constants, value.home, value.dtype, planned.shape, graph_.name(value.tensor.node));
        return;
      case Storage::kSlot:
        break;
    }
    if (weightless(value.dtype) ||
        (s.control == Control::kNone && output_rule(graph_, program_, s) != OutputRule::kOwn))
      return;
    memory_[value.home].known = false;
  }

  // What would make the peak overflow counts as unknown.
  void add(int64_t PlannedMemory::*column, DeviceId device, DType dtype, const Shape& shape, std::string_view name) {
    if (weightless(dtype)) return;
    PlannedMemory& memory = memory_[device];
    const std::optional<int64_t> bytes = footprint(dtype, shape);
    int64_t peak = 0;
    if (!bytes || __builtin_add_overflow(memory.peak(), *bytes, &peak)) return void(memory.known = false);
    memory.*column += *bytes;
    live_[device].add(name, *bytes);
  }

  void add_workspace(DeviceId device, const Workspace& w) {
    PlannedMemory& memory = memory_[device];
    const int64_t more = std::max<int64_t>(w.scratch - memory.scratch, 0);
    int64_t peak = 0;
    if (__builtin_add_overflow(memory.peak(), more, &peak) || __builtin_add_overflow(peak, w.kept, &peak))
      return void(memory.known = false);
    memory.constants += w.kept;
    memory.scratch += more;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  const Plan& plan_;
  std::vector<PlannedMemory> memory_;  // by device
  std::vector<LiveList> live_;         // by device
};

}  // namespace

int64_t declared_variable_bytes(const Graph& graph, const Program& program, DeviceId device) {
  int64_t total = 0;
  for (const DeclaredVariable& v : declared_variables(graph, program)) {
    if (v.device != device || weightless(v.dtype) || !v.shape.fully_known()) continue;
    const std::optional<int64_t> bytes = footprint(v.dtype, v.shape);
    if (!bytes || __builtin_add_overflow(total, *bytes, &total)) return std::numeric_limits<int64_t>::max();
  }
  return total;
}

Result<std::vector<PlannedMemory>> planned_memory(const GraphFile& file, const DeviceSet& devices,
                                                  const Placement& placement, const StepRequest& request,
                                                  const std::vector<Tensor>& feeds) {
  ASSIGN_OR_RETURN(Program program, partition(file, devices, placement, request, {.to_run = false}));
  ASSIGN_OR_RETURN(Plan plan, settle(file, devices, program, feeds));
  share_undone(file.graph, program, plan);
  plan_memory(file, program, plan);
  return MemoryCounter(file.graph, devices, program, plan).count();
}

}  // namespace emplace
