#include "core/plan/undone_transposes.h"

#include <algorithm>

#include "core/partition/partition.h"
#include "core/plan/settle.h"

namespace emplace {
namespace {

class UndoneTransposes {
 public:
  UndoneTransposes(const Graph& graph, const Program& program, Plan& plan)
      : graph_(graph), program_(program), plan_(plan), readers_(program.values.size()) {}

  std::vector<LeftOut> share() {
    if (std::none_of(graph_.types().begin(), graph_.types().end(),
                     [](const NodeType& t) { return t.traits->permutes; }))
      return {};
    count_readers();
    undone_by_.assign(program_.instructions.size(), kNoNode);
    for (InstructionId id = 0; id < program_.instructions.size(); ++id) share(id);
    for (InstructionId id = static_cast<InstructionId>(program_.instructions.size()); id-- > 0;) drop(id);
    if (!shared_.empty()) follow();
    std::sort(gone_.begin(), gone_.end(), [](const LeftOut& a, const LeftOut& b) { return a.node < b.node; });
    return std::move(gone_);
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }
  NodeId node(InstructionId id) const { return program_.instructions[id].node; }
  ValueId input(InstructionId id) const { return program_.inputs(program_.instructions[id])[0]; }
  ValueId output(InstructionId id) const { return program_.outputs(program_.instructions[id])[0]; }

  void count_readers() {
    for (const Instruction& s : program_.instructions) {
      for (ValueId v : program_.inputs(s)) {
        if (v != kNoValue) ++readers_[v];
      }
    }
    for (ValueId v : program_.fetches) ++readers_[v];
  }

  bool is_transpose(InstructionId id) const {
    if (id == kNoInstruction || plan_.modes[id] != InstructionMode::kDirect) return false;
    const Instruction& s = program_.instructions[id];
    return s.kind == InstructionKind::kNode && graph_.traits(s.node).permutes;
  }

  /// Dimension i of its result is dimension [i] of what it reads; null: only the run knows.
  const Tensor* order(InstructionId id) const {
    const ValuePlan& perm = plan_.values[program_.inputs(program_.instructions[id])[1]];
    return perm.varies ? nullptr : perm.known;
  }

  static int64_t entry(const Tensor& perm, int64_t i, int64_t rank) {
    const int64_t d = perm.dtype() == DType::kInt32 ? perm.data<int32_t>()[i] : perm.data<int64_t>()[i];
    return d < 0 ? d + rank : d;
  }

  bool undo_each_other(InstructionId first, InstructionId second) const {
    const Tensor *a = order(first), *b = order(second);
    if (!a || !b || a->num_elements() != b->num_elements()) return false;
    const int64_t rank = a->num_elements();
    for (int64_t i = 0; i < rank; ++i) {
      if (entry(*a, entry(*b, i, rank), rank) != i) return false;
    }
    return true;
  }

  // The second of two that undo each other: its result is where the first one's input is.
  void share(InstructionId second) {
    if (!is_transpose(second)) return;
    const InstructionId first = program_.values[input(second)].producer;
    if (!is_transpose(first) || !undo_each_other(first, second)) return;
    const ValueId from = input(first), to = output(second);
    if (program_.values[from].home != program_.values[to].home || at(from).storage != Storage::kBlock) return;
    const ValueId old = at(to).buffer;
    at(to).buffer = at(from).buffer;
    shared_.emplace_back(old, at(from).buffer);
    plan_.modes[second] = InstructionMode::kSkip;
    gone_.push_back({node(second), node(first)});
    if (undone_by_[first] == kNoNode) undone_by_[first] = node(second);
    --readers_[input(second)];
  }

  // One whose result nobody reads any more: nor are its bytes needed.
  void drop(InstructionId first) {
    if (!is_transpose(first) || readers_[output(first)] > 0) return;
    const ValueId from = input(first), to = output(first);
    if (program_.values[from].home != program_.values[to].home || at(from).storage != Storage::kBlock) return;
    at(to).buffer = at(from).buffer;
    plan_.modes[first] = InstructionMode::kSkip;
    gone_.push_back({node(first), undone_by_[first]});
  }

  // Reshapes and the like of what is elsewhere now are there too.
  void follow() {
    std::vector<ValueId> moved(program_.values.size());
    for (ValueId v = 0; v < moved.size(); ++v) moved[v] = v;
    for (const auto& [old, now] : shared_) moved[old] = moved[now];
    for (ValuePlan& p : plan_.values) {
      if (p.storage == Storage::kBlock) p.buffer = moved[p.buffer];
    }
  }

  const Graph& graph_;
  const Program& program_;
  Plan& plan_;
  std::vector<uint32_t> readers_;                    // by value
  std::vector<std::pair<ValueId, ValueId>> shared_;  // buffers: what lay in the first lies in the second
  std::vector<NodeId> undone_by_;                    // by instruction
  std::vector<LeftOut> gone_;
};

}  // namespace

std::vector<LeftOut> share_undone(const Graph& graph, const Program& program, Plan& plan) {
  return UndoneTransposes(graph, program, plan).share();
}

Result<std::vector<LeftOut>> left_out_nodes(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                                            const StepRequest& request, const std::vector<Tensor>& feeds) {
  ASSIGN_OR_RETURN(const Program program, partition(file, devices, placement, request, {.to_run = false}));
  ASSIGN_OR_RETURN(Plan plan, settle(file, devices, program, feeds));
  return share_undone(file.graph, program, plan);
}

}  // namespace emplace
