#include "core/run/frame_interpreter.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/op/run_kernel.h"
#include "core/partition/copy_kind.h"
#include "core/run/exchange.h"
#include "core/run/gpu_kernels.h"

namespace emplace {

FrameInterpreter::FrameInterpreter(PreparedProgram& p, SlotOperands& operands, ObserverFeed* feed)
    : p_(p),
      operands_(operands),
      feed_(feed),
      dead_(p.program.instructions.size()),
      arriving_(p.program.values.size()) {
  list_loops();
}

Status FrameInterpreter::run(InstructionId id) {
  const Instruction& s = p_.program.instructions[id];
  if (s.kind == InstructionKind::kLoop) return run_loop(id);
  if (p_.plan.modes[id] == InstructionMode::kSkip) return feed_ ? feed_->skipped(id) : ok_status();
  if (is_transfer(s)) {
    RETURN_IF_ERROR(s.kind == InstructionKind::kSend ? run_send(id) : run_receive(id));
  } else if (s.may_be_dead && is_dead(s)) {
    mark_dead(id);
  } else {
    RETURN_IF_ERROR(p_.blame(run_kernel(id), id));
  }
  return release(id);
}

// What is given up must not be written to any more.
Status FrameInterpreter::release(InstructionId id) {
  for (ValueId v : operands_.releases()[id]) RETURN_IF_ERROR(p_.blame(arrive(v), id));
  operands_.release(id);
  return ok_status();
}

// The end of the step waits for all that is still on its way.
void FrameInterpreter::let_arrive(InstructionId id) {
  const Instruction& s = p_.program.instructions[id];
  GpuCopyKernel* copy = p_.bound[id].gpu_copy;
  if (!copy) return;
  if (copy->from_host()) {
    if (s.in_loop) copy->guard_later();  // nobody writes over what a loop reads, before the step has ended
  } else if (copy->to_host()) {
    const ValueId v = p_.program.outputs(s)[0];
    if (p_.plan.values[v].storage == Storage::kSlot) copy->join_later();
    if (copy->joins_later()) arriving_[v] = copy;
  }
}

Status FrameInterpreter::arrive(ValueId v) {
  GpuCopyKernel* copy = std::exchange(arriving_[v], nullptr);
  return copy ? copy->join() : ok_status();
}

Status FrameInterpreter::run_range(InstructionId begin, InstructionId end) {
  for (InstructionId id = begin; id < end; ++id) {
    if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
    RETURN_IF_ERROR(run(id));
    if (p_.program.instructions[id].kind == InstructionKind::kLoop) id = p_.program.instructions[id].body_end - 1;
  }
  return ok_status();
}

void FrameInterpreter::list_loops() {
  const Program& program = p_.program;
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    if (program.instructions[id].kind != InstructionKind::kLoop) continue;
    Loop loop;
    loop.instruction = id;
    for (InstructionId inner = id + 1; inner < program.instructions[id].body_end; ++inner) {
      if (program.instructions[inner].kind == InstructionKind::kLoop) {
        inner = program.instructions[inner].body_end - 1;
      } else {
        add_to(loop, inner);
      }
    }
    loops_.push_back(std::move(loop));
  }
  if (!loops_.empty() && !program.transfers.empty()) passes_.resize(program.instructions.size());
}

void FrameInterpreter::add_to(Loop& loop, InstructionId inner) const {
  const Program& program = p_.program;
  const Instruction& s = program.instructions[inner];
  if (is_transfer(s) && s.control == Control::kNextIteration) {
    loop.decides = inner;
  } else if (s.control == Control::kNextIteration) {
    loop.next.push_back(program.outputs(s)[0]);
  } else if (s.control == Control::kEnter) {
    const ValueId v = program.outputs(s)[0];
    loop.entered.push_back(v);
    if (!p_.file.graph.attrs(s.node).flag("is_constant")) loop.first_only.push_back(v);
    if (std::find(program.fetches.begin(), program.fetches.end(), v) != program.fetches.end())
      loop.fetched.push_back(v);
  } else if (inner < program.instructions[loop.instruction].entered && s.num_outputs == 1) {
    const ValueId copy = program.outputs(s)[0];
    const NodeId source = program.values[copy].tensor.node;
    if (p_.file.graph.traits(source).control != Control::kEnter) return;  // of what enters, not of what has entered
    loop.entered.push_back(copy);
    if (!p_.file.graph.attrs(source).flag("is_constant")) loop.first_only.push_back(copy);
  }
}

void FrameInterpreter::list_plain_loops() {
  plain_.clear();
  for (const PlainLoop& loop : p_.plain_loops) plain_.emplace_back(p_, operands_, loop);
}

// The Enters once, then the body as long as a NextIteration is alive. Values that a Merge took at the first iteration
// are dead in the next.
Status FrameInterpreter::run_loop(InstructionId id) {
  const Loop& loop = *std::lower_bound(loops_.begin(), loops_.end(), id,
                                       [](const Loop& l, InstructionId wanted) { return l.instruction < wanted; });
  const auto [body, end] = std::pair(p_.program.instructions[id].entered, p_.program.instructions[id].body_end);
  for (ValueId v : loop.next) operands_.set_dead(v, true);
  if (!passes_.empty() && !p_.program.instructions[id].in_loop)
    std::fill(passes_.begin() + id, passes_.begin() + end, 0);
  RETURN_IF_ERROR(run_range(id + 1, body));
  if (const PlainLoop* plain = find_loop(p_.plain_loops, id))
    return plain_[static_cast<size_t>(plain - p_.plain_loops.data())].run();
  std::vector<std::pair<ValueId, Tensor>> results;
  for (ValueId v : loop.fetched) {
    if (!operands_.is_dead(v)) results.emplace_back(v, p_.values[v]);
  }
  for (;;) {
    RETURN_IF_ERROR(run_range(body, end));
    if (!goes_on(loop)) break;
    for (ValueId v : loop.first_only) {
      operands_.set_dead(v, true);
      p_.values[v] = Tensor();
    }
  }
  for (ValueId v : loop.entered) p_.values[v] = Tensor();
  for (auto& [v, value] : results) {
    operands_.set_dead(v, false);
    p_.values[v] = std::move(value);
  }
  return ok_status();
}

// A loop on several tasks goes on on all of them, or on none.
bool FrameInterpreter::goes_on(const Loop& loop) const {
  if (loop.decides != kNoInstruction) return !dead_[loop.decides];
  return std::any_of(loop.next.begin(), loop.next.end(), [&](ValueId v) { return !operands_.is_dead(v); });
}

bool FrameInterpreter::is_dead(const Instruction& s) const {
  if (s.control == Control::kTrigger) return false;
  const bool is_merge = s.control == Control::kMerge;
  // A Merge's control inputs say when it runs, not whether: they may be of a branch that is not taken.
  for (InstructionId c : is_merge ? std::span<const InstructionId>() : p_.program.controls_of(s)) {
    if (dead_[c]) return true;
  }
  for (ValueId v : p_.program.inputs(s)) {
    if (operands_.is_dead(v) != is_merge) return !is_merge;
  }
  return is_merge;
}

void FrameInterpreter::mark_dead(InstructionId id) {
  dead_[id] = 1;
  for (ValueId v : p_.program.outputs(p_.program.instructions[id])) operands_.set_dead(v, true);
}

Status FrameInterpreter::run_send(InstructionId id) {
  const Instruction& s = p_.program.instructions[id];
  dead_[id] = s.may_be_dead && is_dead(s);
  if (dead_[id]) return p_.runtime.exchange->send(p_.transfer(id), {Tensor(), true, next_pass(id)}, p_.runtime.stop);
  for (ValueId v : p_.program.inputs(s)) RETURN_IF_ERROR(p_.blame(arrive(v), id));
  RETURN_IF_ERROR(p_.blame(operands_.gather(id), id));
  const std::span<const Tensor> inputs = p_.bound[id].context.inputs_;
  const Tensor value = inputs.empty() ? Tensor() : inputs[0];
  if (value.valid() && p_.program.values[p_.program.inputs(s)[0]].producer != kNoInstruction)  // fed ones are no copies
    copy_bytes += static_cast<int64_t>(value.size_bytes());
  RETURN_IF_ERROR(p_.runtime.exchange->send(p_.transfer(id), {value, false, next_pass(id)}, p_.runtime.stop));
  operands_.let_go_of_inputs(id);
  return ok_status();
}

// Kernels trust what the graph says of types and shapes; another task may not keep to it.
Status FrameInterpreter::check_received(ValueId v, const Tensor& value) const {
  const PlacedValue& wanted = p_.program.values[v];
  const Graph& g = p_.file.graph;
  if (value.valid() && value.dtype() == base_type(wanted.dtype) &&
      g.output_shape(wanted.tensor).compatible_with(value.shape()))
    return ok_status();
  const std::string found =
      value.valid() ? cat(dtype_name(value.dtype()), value.shape().to_string()) : std::string("nothing");
  return Status(Code::kDataLoss,
                cat("another task sent ", found, " for ", g.name(wanted.tensor.node), ':', wanted.tensor.slot,
                    ", which is ", dtype_name(base_type(wanted.dtype)), g.output_shape(wanted.tensor).to_string()));
}

Status FrameInterpreter::run_receive(InstructionId id) {
  const Transfer& transfer = p_.transfer(id);
  Result<Piece> received = p_.runtime.exchange->receive(transfer, next_pass(id), p_.runtime.stop);
  if (received.status().code() == Code::kDeadlineExceeded) {
    return {Code::kDeadlineExceeded,
            cat(received.status().message(), "; '", p_.file.graph.name(p_.program.instructions[id].node),
                "' has not come from ", p_.runtime.exchange->task_name(transfer.peer))};
  }
  if (!received.ok())  // where the step stood when it was ended from elsewhere
    return received.take_status().at_node(p_.file.graph.name(p_.program.instructions[id].node));
  Piece piece = received.take();
  if (piece.dead) return mark_dead(id), ok_status();
  dead_[id] = 0;
  for (const ValueId v : p_.program.outputs(p_.program.instructions[id])) {
    RETURN_IF_ERROR(check_received(v, piece.value));
    p_.values[v] = std::move(piece.value);
    operands_.set_dead(v, false);
  }
  return ok_status();
}

Status FrameInterpreter::run_kernel(InstructionId id) {
  BoundInstruction& b = p_.bound[id];
  const Instruction& s = p_.program.instructions[id];
  for (ValueId v : p_.program.inputs(s)) RETURN_IF_ERROR(arrive(v));
  for (ValueId v : p_.program.outputs(s)) RETURN_IF_ERROR(arrive(v));  // of the iteration before
  let_arrive(id);
  RETURN_IF_ERROR(operands_.gather(id));
  if (p_.guard.needed()) RETURN_IF_ERROR(operands_.check_inputs(id));
  RETURN_IF_ERROR(operands_.settle_outputs(id));
  if (!feed_) {
    RETURN_IF_ERROR(emplace::run_kernel(*b.kernel, b.context));
  } else {
    feed_->starting(id);
    RETURN_IF_ERROR(emplace::run_kernel(*b.kernel, b.context));
    RETURN_IF_ERROR(feed_->finished(id, b.context.outputs_));
  }
  dead_[id] = 0;
  operands_.scatter(id);
  if (s.kind == InstructionKind::kCopy && copy_kind(p_.program, s) == CopyKind::kEdge)
    copy_bytes += static_cast<int64_t>(b.context.inputs_[0].size_bytes());
  operands_.let_go_of_inputs(id);
  return ok_status();
}

}  // namespace emplace
