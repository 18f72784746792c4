// One pass in running order, copies made before their first reader.
#include "core/partition/partition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/graph/node_kernel.h"
#include "core/partition/bucket_order.h"
#include "core/partition/constants_first.h"
#include "core/partition/control_flow.h"
#include "core/partition/copy_kind.h"
#include "core/partition/deferred.h"
#include "core/partition/frames.h"
#include "core/partition/host_waits.h"
#include "core/partition/meetings.h"
#include "core/partition/memory_kind.h"
#include "core/partition/prune.h"
#include "core/partition/rank_order.h"
#include "core/place/isolate_calls.h"

namespace emplace {
namespace {

// The parts of a node that its type decides.
struct TypeFacts {
  bool known = false;
  bool is_constant = false;
  Control control = Control::kNone;
};

class Cutter {
 public:
  Cutter(const GraphFile& file, const DeviceSet& devices, const Placement& placement, const StepRequest& request,
         const PartitionOptions& options)
      : graph_(file.graph),
        devices_(devices),
        request_(request),
        options_(options),
        tasks_(devices),
        ranks_(placement.ranks),
        pruned_(graph_, request),
        memory_(file),
        facts_(graph_.types().size()),
        host_(tasks_.host[0]) {
    for (DeviceId d = 0; d < devices.size(); ++d) is_cpu_.push_back(devices.at(d).type == "CPU");
    device_of_.reserve(graph_.num_nodes());
    for (const Decision& d : placement.decisions) device_of_.push_back(d.device);
  }

  Result<Program> cut() {
    RETURN_IF_ERROR(check_kernels());
    program_.feeds.assign(request_.feeds.size(), kNoValue);
    value_of_.assign(graph_.output_shapes_.size(), kNoValue);
    instruction_of_.assign(graph_.num_nodes(), kNoInstruction);
    program_.instructions.reserve(pruned_.nodes().size());
    program_.values.reserve(pruned_.nodes().size());
    program_.operands.reserve(3 * pruned_.nodes().size());
    if (has_control_flow_) move_control_flow(graph_, device_of_);
    if (has_frames_) {
      RETURN_IF_ERROR(add_frames());
    } else if (request_.guard.node != kNoNode && pruned_.needed(request_.guard.node)) {
      add_guarded(order());
    } else {
      OccasionalLook look;
      for (NodeId id : order()) {
        if (look.stop_requested()) return stop_status();
        add_node(id);
      }
    }
    if (options_.to_run) RETURN_IF_ERROR(check_meetings(graph_, program_));
    for (const Endpoint& e : request_.fetches) program_.fetches.push_back(fetched(e));
    program_.num_constant_feeds = options_.num_constant_feeds;
    program_.has_loops = has_frames_;
    program_.host = host_;
    if (!ranks_.empty()) {
      for (const Instruction& s : program_.instructions)
        program_.ranks.push_back(s.node == kNoNode ? 0 : ranks_[s.node]);
    }
    return std::move(program_);
  }

 private:
  const TypeFacts& facts(NodeId id) {
    TypeFacts& f = facts_[graph_.node(id).type];
    if (!f.known) {
      const OpTraits& op = graph_.traits(id);
      f = {true, op.constant, op.control};
    }
    return f;
  }

  // To run, every op must be one that emplace has, with a kernel for the node's type. Readers of calls that return
  // resources come before the Identity that they read (isolate_calls.h): there is no order for those.
  Status check_kernels() {
    std::map<std::string, std::pair<NodeId, int>> missing;
    std::vector<uint8_t> fine(graph_.types().size());
    for (NodeId id : pruned_.nodes()) {
      Control control = facts(id).control;
      has_control_flow_ |= control != Control::kNone;
      has_frames_ |= control == Control::kEnter || control == Control::kNextIteration;
      uint8_t& ok = fine[graph_.node(id).type];
      if (ok) continue;
      const NodeType& type = graph_.type(id);
      DType dtype = kernel_type(type);
      ok = !options_.to_run ? !is_inspected_call(type) : (type.def && (facts(id).is_constant || cpu_kernel(type)));
      if (ok) continue;
      std::string what(type.op);
      if (type.def && dtype != DType::kInvalid) append(what, "(", dtype_tf_name(dtype), ")");
      missing.try_emplace(std::move(what), id, 0).first->second.second++;
    }
    if (missing.empty()) return ok_status();
    std::string text = "emplace cannot run: ";
    bool first = true;
    for (const auto& [what, where] : missing) {
      append(text, first ? "" : ", ", what, " (node '", graph_.name(where.first), "'");
      if (where.second > 1) append(text, " and ", where.second - 1, " more");
      text += ')';
      first = false;
    }
    return unimplemented(std::move(text));
  }

  std::vector<NodeId> order() {
    std::vector<NodeId> met = order_for_meetings(graph_, pruned_.nodes());
    if (tasks_.size() > 1) met = order_by_bucket(graph_, pruned_, std::move(met));
    met = ranks_.empty() ? order_constants_first(graph_, pruned_, device_of_, is_cpu_, std::move(met))
                         : order_by_rank(graph_, pruned_, ranks_, met);
    return options_.early_launches
               ? order_for_host_waits(graph_, devices_, device_of_, memory_, pruned_, std::move(met))
               : met;
  }

  // What writes variables, and what comes after it, waits for the guard, unless the guard itself waits for it.
  void add_guarded(const std::vector<NodeId>& nodes) {
    const DeferredNodes deferred(graph_, pruned_, request_.guard.node);
    for (NodeId id : nodes) {
      if (!deferred.contains(id)) add_node(id);
    }
    program_.guard = instruction_of_[request_.guard.node];
    for (NodeId id : nodes) {
      if (deferred.contains(id)) add_node(id);
    }
  }

  Status add_frames() {
    ASSIGN_OR_RETURN(Frames frames, Frames::find(graph_, pruned_));
    std::vector<std::pair<size_t, InstructionId>> open;  // item where it ends, its loop instruction
    const auto& order = frames.order();
    for (size_t i = 0; i < order.size(); ++i) {
      close_loops(open, i);
      if (order[i].node != kNoNode) {
        add_node(order[i].node, !open.empty());
        continue;
      }
      Instruction loop;
      loop.kind = InstructionKind::kLoop;
      loop.node = i + 1 < order.size() ? order[i + 1].node : kNoNode;
      loop.device = host_;
      loop.in_loop = !open.empty();
      open.emplace_back(i + 1 + order[i].size, static_cast<InstructionId>(program_.instructions.size()));
      program_.instructions.push_back(loop);
    }
    close_loops(open, order.size());
    for (const auto& [operand, tensor] : back_edges_) program_.operands[operand] = value(tensor);
    find_entered();
    return ok_status();
  }

  void close_loops(std::vector<std::pair<size_t, InstructionId>>& open, size_t item) {
    while (!open.empty() && open.back().first == item) {
      program_.instructions[open.back().second].body_end = static_cast<InstructionId>(program_.instructions.size());
      open.pop_back();
    }
  }

  // A loop's Enters, and the copies made for them, are the instructions up to the last Enter of its own.
  void find_entered() {
    for (InstructionId s = 0; s < program_.instructions.size(); ++s) {
      Instruction& loop = program_.instructions[s];
      if (loop.kind != InstructionKind::kLoop) continue;
      loop.entered = s + 1;
      for (InstructionId b = s + 1; b < loop.body_end; ++b) {
        if (program_.instructions[b].kind == InstructionKind::kLoop) break;
        if (program_.instructions[b].control == Control::kEnter) loop.entered = b + 1;
      }
    }
  }

  void add_node(NodeId id, bool in_loop = false) {
    const NodeType& type = graph_.type(id);
    const TypeFacts& f = facts(id);
    Instruction instruction;
    instruction.node = id;
    instruction.control = f.control;
    instruction.kind = f.is_constant ? InstructionKind::kConstant : InstructionKind::kNode;
    instruction.device = device_of_[id];
    instruction.in_loop = in_loop;
    auto inputs = graph_.inputs(id);
    // Copies first: they are instructions of their own, and come before.
    scratch_.clear();
    bool cpu = is_cpu_[instruction.device];
    for (size_t i = 0; i < inputs.size(); ++i) {
      bool back = f.control == Control::kMerge && pruned_.feed_of(inputs[i]) < 0 &&
                  instruction_of_[inputs[i].node] == kNoInstruction;
      scratch_.push_back(back ? kNoValue : local_input(id, static_cast<int>(i), instruction.device, cpu, in_loop));
    }
    instruction.first_operand = static_cast<uint32_t>(program_.operands.size());
    instruction.num_inputs = static_cast<uint32_t>(inputs.size());
    instruction.num_outputs = graph_.num_outputs(id);
    bool all_may_be_dead = !inputs.empty();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (scratch_[i] == kNoValue) {
        back_edges_.emplace_back(program_.operands.size(), inputs[i]);
      } else {
        InstructionId producer = program_.values[scratch_[i]].producer;
        bool mortal = producer != kNoInstruction && program_.instructions[producer].may_be_dead;
        instruction.may_be_dead |= mortal;
        all_may_be_dead &= mortal;
      }
      program_.operands.push_back(scratch_[i]);
    }
    instruction.first_control = static_cast<uint32_t>(program_.controls.size());
    for (const Endpoint& e : graph_.controls(id)) {
      if (!pruned_.orders(e.node) || instruction_of_[e.node] == kNoInstruction) continue;
      program_.controls.push_back(instruction_of_[e.node]);
      instruction.may_be_dead |= program_.instructions[instruction_of_[e.node]].may_be_dead;
    }
    if (program_.guard != kNoInstruction && writes_variable(graph_, id)) program_.controls.push_back(program_.guard);
    instruction.num_controls = static_cast<uint32_t>(program_.controls.size()) - instruction.first_control;
    if (f.control == Control::kMerge) instruction.may_be_dead = all_may_be_dead || in_loop;
    if (f.control == Control::kSwitch || in_loop) instruction.may_be_dead = true;
    if (instruction.kind == InstructionKind::kConstant && instruction.may_be_dead)
      instruction.kind = InstructionKind::kNode;
    auto self = static_cast<InstructionId>(program_.instructions.size());
    instruction_of_[id] = self;
    for (uint32_t slot = 0; slot < instruction.num_outputs; ++slot)
      add_output({id, slot}, type.output_types[slot], instruction, self);
    program_.instructions.push_back(instruction);
  }

  void add_output(Endpoint e, DType dtype, const Instruction& instruction, InstructionId self) {
    const DeviceId host = host_of(instruction.device);
    DeviceId home = is_cpu_[instruction.device] ? host : instruction.device;
    if (home != host &&
        (is_ref(dtype) || memory_.output(e.node, e.slot, devices_.at(home).type) == MemoryKind::kHost)) {
      home = host;
    }
    auto id = static_cast<ValueId>(program_.values.size());
    program_.values.push_back({e, instruction.device, home, dtype, self});
    program_.operands.push_back(id);
    if (pruned_.feed_of(e) < 0) value_of_[graph_.node(e.node).first_output + e.slot] = id;
  }

  // The value of a tensor where it is made or fed.
  ValueId value(Endpoint e) {
    ValueId& v = value_of_[graph_.node(e.node).first_output + e.slot];
    int feed = v == kNoValue ? pruned_.feed_of(e) : -1;
    if (feed >= 0) {
      v = static_cast<ValueId>(program_.values.size());
      program_.values.push_back({e, host_, host_, base_type(graph_.output_type(e)), kNoInstruction});
      program_.feeds[static_cast<size_t>(feed)] = v;
    }
    return v;
  }

  // Input `i` of `node` in a memory that its kernel can read; a copy is made where there is none yet.
  ValueId local_input(NodeId node, int i, DeviceId device, bool cpu, bool in_loop) {
    ValueId v = value(graph_.inputs(node)[static_cast<size_t>(i)]);
    const bool is_handle = is_ref(graph_.type(node).input_types[static_cast<size_t>(i)]) ||
                           program_.values[v].dtype == DType::kResource;  // these never leave their task
    if (!is_handle && !on_one_task(program_.values[v].device, device)) v = to_task(v, node, device, in_loop);
    const PlacedValue source = program_.values[v];
    bool wants_host = cpu || memory_.input(node, static_cast<size_t>(i), devices_.at(device).type) == MemoryKind::kHost;
    bool on_host = source.home == host_of(source.device);
    bool wants_handle =
        is_ref(graph_.type(node).input_types[static_cast<size_t>(i)]) || source.dtype == DType::kResource;
    if (source.device == device && (wants_handle || on_host == wants_host || is_ref(source.dtype))) return v;
    if (wants_handle && on_host == wants_host) return v;
    return copy(v, node, device, wants_host, in_loop);
  }

  DeviceId host_of(DeviceId device) const { return tasks_.host[tasks_.of[device]]; }
  bool on_one_task(DeviceId a, DeviceId b) const { return tasks_.of[a] == tasks_.of[b]; }

  // The value in the host memory of another task, from where a GPU there takes it; of a GPU's, by way of its own host.
  ValueId to_task(ValueId v, NodeId reader, DeviceId device, bool in_loop) {
    const PlacedValue& source = program_.values[v];
    if (source.home != host_of(source.device)) v = copy(v, reader, source.device, true, in_loop);
    return copy(v, reader, device, true, in_loop);
  }

  // Results are the session's own task's.
  ValueId fetched(Endpoint e) {
    const ValueId v = value(e);
    return on_one_task(program_.values[v].device, host_) ? v : to_task(v, e.node, host_, false);
  }

  ValueId copy(ValueId from, NodeId reader, DeviceId device, bool to_host, bool in_loop) {
    const PlacedValue source = program_.values[from];
    uint64_t key = (uint64_t{from} << 17) | (uint64_t{device} << 1) | (to_host ? 1 : 0);
    bool shared = !is_ref(source.dtype);
    if (shared) {
      if (auto it = copies_.find(key); it != copies_.end()) return it->second;
    }
    Instruction instruction;
    instruction.kind = InstructionKind::kCopy;
    instruction.node = reader;
    instruction.device = device;
    instruction.in_loop = in_loop;
    instruction.may_be_dead =
        in_loop || (source.producer != kNoInstruction && program_.instructions[source.producer].may_be_dead);
    instruction.first_operand = static_cast<uint32_t>(program_.operands.size());
    instruction.num_inputs = instruction.num_outputs = 1;
    auto made = static_cast<ValueId>(program_.values.size());
    DeviceId home = to_host ? host_of(device) : device;
    program_.values.push_back({source.tensor, device, home, base_type(source.dtype),
                               static_cast<InstructionId>(program_.instructions.size())});
    program_.operands.push_back(from);
    program_.operands.push_back(made);
    program_.instructions.push_back(instruction);
    if (copy_kind(program_, instruction) == CopyKind::kEdge) ++program_.num_copies;
    if (shared) copies_.emplace(key, made);
    return made;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const StepRequest& request_;
  const PartitionOptions& options_;
  const TaskMap tasks_;
  const std::vector<float>& ranks_;  // by node; empty: none
  Pruned pruned_;
  MemoryKinds memory_;
  std::vector<TypeFacts> facts_;
  std::vector<uint8_t> is_cpu_;
  std::vector<DeviceId> device_of_;
  const DeviceId host_;  // of the session's own task
  bool has_control_flow_ = false, has_frames_ = false;

  Program program_;
  std::vector<ValueId> value_of_;              // by output: first_output + slot
  std::vector<InstructionId> instruction_of_;  // by node
  std::vector<ValueId> scratch_;
  std::unordered_map<uint64_t, ValueId> copies_;
  std::vector<std::pair<size_t, Endpoint>> back_edges_;  // operand that waits for a NextIteration
};

}  // namespace

Result<Program> partition(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                          const StepRequest& request, const PartitionOptions& options) {
  return Cutter(file, devices, placement, request, options).cut();
}

}  // namespace emplace
