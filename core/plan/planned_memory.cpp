#include "core/plan/planned_memory.h"

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/device/memory_pool.h"
#include "core/graph/variables.h"
#include "core/plan/settle.h"

namespace emplace {
namespace {

/// Has no bytes of its own in a device's memory: a handle, or text on the heap.
bool weightless(DType t) { return is_ref(t) || t == DType::kResource || t == DType::kString; }

class MemoryCounter {
 public:
  MemoryCounter(const Graph& graph, const DeviceSet& devices, const Program& program, const Plan& plan)
      : graph_(graph), program_(program), plan_(plan), memory_(devices.size()) {
    for (DeviceId d = 0; d < devices.size(); ++d) {
      memory_[d].block = plan.devices[d].bytes;
      for (const auto& [v, bytes] : plan.devices[d].live_at_peak) {
        memory_[d].live_at_peak.emplace_back(graph.name(program.values[v].tensor.node), bytes);
      }
    }
  }

  std::vector<PlannedMemory> count() {
    for (const Step& s : program_.steps) {
      if (s.kind == StepKind::kLoop) continue;
      if (s.kind == StepKind::kNode && is_variable_op(graph_.op(s.node))) add_variable(s);
      for (ValueId v : program_.outputs(s)) add_value(s, v);
    }
    return std::move(memory_);
  }

 private:
  void add_value(const Step& s, ValueId v) {
    const PlacedValue& value = program_.values[v];
    const ValuePlan& planned = plan_.values[v];
    switch (planned.storage) {
      case Storage::kBlock:
      case Storage::kTile: return;
      case Storage::kFixed:
        if (value.home != program_.host) add(value.home, value.dtype, planned.shape);
        return;
      case Storage::kSlot: break;
    }
    if (weightless(value.dtype) || (s.control == Control::kNone && output_rule(graph_, program_, s) != OutputRule::kOwn)) return;
    memory_[value.home].known = false;
  }

  void add_variable(const Step& s) {
    const Attrs attrs = graph_.attrs(s.node);
    const std::string& shared = attrs.text("shared_name");
    std::string name = shared.empty() ? std::string(graph_.name(s.node)) : shared;
    if (seen_.emplace(s.device, attrs.text("container"), std::move(name)).second) add(s.device, *attrs.find("dtype")->get_if<DType>(), attrs.shape("shape"));
  }

  void add(DeviceId device, DType dtype, const Shape& shape) {
    if (weightless(dtype)) return;
    PlannedMemory& memory = memory_[device];
    const std::optional<int64_t> elements = shape.fully_known() ? shape.checked_num_elements() : std::nullopt;
    int64_t bytes = 0, fixed = 0, peak = 0;
    bool counted = elements && !__builtin_mul_overflow(*elements, static_cast<int64_t>(storage_size(dtype)), &bytes) &&
                   !__builtin_add_overflow(memory.fixed, MemoryPool::footprint(bytes), &fixed) &&
                   !__builtin_add_overflow(memory.block, fixed, &peak);
    if (counted) {
      memory.fixed = fixed;
    } else {
      memory.known = false;
    }
  }

  const Graph& graph_;
  const Program& program_;
  const Plan& plan_;
  std::vector<PlannedMemory> memory_;                              // by device
  std::set<std::tuple<DeviceId, std::string, std::string>> seen_;  // variables: device, container, name
};

}  // namespace

int64_t declared_variable_bytes(const Graph& graph, const Program& program, DeviceId device) {
  std::set<std::pair<std::string, std::string>> seen;  // container, name
  int64_t total = 0;
  for (const Step& s : program.steps) {
    if (s.kind != StepKind::kNode || s.device != device || !is_variable_op(graph.op(s.node))) continue;
    const Attrs attrs = graph.attrs(s.node);
    auto text = [&](std::string_view name) {
      const AttrValue* value = attrs.find(name);
      return value && value->get_if<std::string>() ? *value->get_if<std::string>() : std::string();
    };
    const AttrValue *dtype = attrs.find("dtype"), *shape = attrs.find("shape");
    if (!dtype || !shape || !dtype->get_if<DType>() || !shape->get_if<Shape>()) continue;
    std::string name = text("shared_name").empty() ? std::string(graph.name(s.node)) : text("shared_name");
    const Shape& known = *shape->get_if<Shape>();
    if (weightless(*dtype->get_if<DType>()) || !known.fully_known() || !seen.emplace(text("container"), std::move(name)).second) continue;
    int64_t bytes = 0;
    auto elements = known.checked_num_elements();
    bool counted = elements && !__builtin_mul_overflow(*elements, static_cast<int64_t>(storage_size(*dtype->get_if<DType>())), &bytes);
    if (!counted || __builtin_add_overflow(total, MemoryPool::footprint(bytes), &total)) return std::numeric_limits<int64_t>::max();
  }
  return total;
}

Result<std::vector<PlannedMemory>> planned_memory(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                                                  Request request, const std::vector<Tensor>& feeds) {
  request.to_run = false;
  ASSIGN_OR_RETURN(Program program, partition(file, devices, placement, request));
  ASSIGN_OR_RETURN(Plan plan, settle(file, devices, program, feeds));
  plan_memory(file, program, plan);
  return MemoryCounter(file.graph, devices, program, plan).count();
}

}  // namespace emplace
