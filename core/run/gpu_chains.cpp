#include "core/run/gpu_chains.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/run/gpu_kernels.h"
#include "core/run/group_walk.h"

namespace emplace {
namespace {

class ChainFinder {
 public:
  ChainFinder(const Graph& graph, const Program& program, const Plan& plan, const std::vector<BoundInstruction>& bound)
      : graph_(graph), program_(program), plan_(plan), bound_(bound) {}

  std::vector<FoundChain> find() {
    walk_groups(
        program_, plan_, {}, [this](InstructionId id) { visit(id); }, [this] { close(); });
    return std::move(found_);
  }

 private:
  const GpuNodeKernel* kernel_of(InstructionId id) const { return bound_[id].gpu_node; }
  int64_t elements(ValueId v) const {
    const Shape& shape = plan_.values[v].shape;
    return shape.fully_known() ? shape.num_elements() : -1;
  }
  ValueId output(InstructionId id) const { return program_.outputs(program_.instructions[id])[0]; }
  ValueId buffer(ValueId v) const { return plan_.values[v].storage == Storage::kBlock ? plan_.values[v].buffer : v; }

  // In its GPU's memory, of n elements or one.
  bool is_operand(ValueId v, DeviceId device, int64_t n) const {
    const PlacedValue& value = program_.values[v];
    const int64_t own = elements(v);
    return (is_ref(value.dtype) ? value.device : value.home) == device && (own == n || own == 1);
  }

  bool is_chainable(InstructionId id) const {
    const Instruction& s = program_.instructions[id];
    const GpuNodeKernel* kernel = kernel_of(id);
    if (!kernel || s.may_be_dead || s.in_loop || s.control != Control::kNone || s.num_outputs != 1) return false;
    const bool settled = plan_.modes[id] == InstructionMode::kDirect ||
                         (plan_.modes[id] == InstructionMode::kPlanned && bound_[id].rehearsed);
    const ValueId out = output(id);
    if (!settled || plan_.values[out].storage != Storage::kBlock || plan_.values[out].buffer != out ||
        elements(out) < 1)
      return false;
    auto inputs = program_.inputs(s);
    if (!std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return is_operand(v, s.device, elements(out)); }))
      return false;
    return kernel->gpu().chains(kernel->kernel());
  }

  // The number of the chain's op that made it, or -1.
  int made_by(ValueId v) const {
    for (size_t k = 0; k < found_chain_.group.instructions.size(); ++k) {
      if (output(found_chain_.group.instructions[k]) == buffer(v)) return static_cast<int>(k);
    }
    return -1;
  }

  bool joins(InstructionId id) const {
    const FusedGroup& group = found_chain_.group;
    auto inputs = program_.inputs(program_.instructions[id]);
    return !group.instructions.empty() && group.instructions.size() < GpuChain::kMostOps &&
           found_chain_.inputs.size() + inputs.size() <= GpuChain::kMostInputs &&
           program_.instructions[id].device == program_.instructions[group.instructions[0]].device &&
           elements(output(id)) == group.elements &&
           std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) { return made_by(v) >= 0; });
  }

  void visit(InstructionId id) {
    const bool chainable = is_chainable(id);
    if (!chainable || !joins(id)) close();
    if (chainable) add(id);
  }

  void add(InstructionId id) {
    FoundChain& f = found_chain_;
    f.group.elements = elements(output(id));
    GpuChain::Op op{&kernel_of(id)->kernel(), {}, false};
    auto inputs = program_.inputs(program_.instructions[id]);
    bool finds_anew = false;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const int made = made_by(inputs[i]);
      op.operands.push_back(made >= 0 ? ~made : input({inputs[i], id, i}));
      finds_anew |= made < 0 && plan_.values[inputs[i]].storage == Storage::kSlot;
    }
    f.group.instructions.push_back(id);
    f.chain.ops.push_back(std::move(op));
    if (finds_anew) f.reads.push_back(id);
  }

  int input(FoundChain::Input wanted) {
    auto& inputs = found_chain_.inputs;
    auto known = std::find_if(inputs.begin(), inputs.end(),
                              [&](const FoundChain::Input& in) { return in.value == wanted.value; });
    if (known != inputs.end()) return static_cast<int>(known - inputs.begin());
    inputs.push_back(wanted);
    found_chain_.chain.single.push_back(elements(wanted.value) == 1);
    return static_cast<int>(inputs.size()) - 1;
  }

  void close() {
    FoundChain f = std::exchange(found_chain_, {});
    if (f.group.instructions.size() < 2) return;
    f.chain.elements = f.group.elements;
    auto name = [&](InstructionId id) { return graph_.name(program_.instructions[id].node); };
    f.chain.name = cat(name(f.group.instructions.front()), " ... ", name(f.group.instructions.back()));
    found_.push_back(std::move(f));
  }

  const Graph& graph_;
  const Program& program_;
  const Plan& plan_;
  const std::vector<BoundInstruction>& bound_;
  FoundChain found_chain_;
  std::vector<FoundChain> found_;
};

}  // namespace

std::vector<FoundChain> find_gpu_chains(const Graph& graph, const Program& program, const Plan& plan,
                                        const std::vector<BoundInstruction>& bound) {
  return ChainFinder(graph, program, plan, bound).find();
}

int64_t bytes_saved(const FoundChain& found, const Program& program) {
  auto size = [&](ValueId v) { return static_cast<int64_t>(dtype_size(base_type(program.values[v].dtype))); };
  int64_t moved = 0;  // for each element
  for (size_t k = 0; k < found.chain.ops.size(); ++k) {
    const Instruction& s = program.instructions[found.group.instructions[k]];
    if (!found.chain.ops[k].stored) moved += size(program.outputs(s)[0]);
    for (size_t i = 0; i < s.num_inputs; ++i) {
      const int operand = found.chain.ops[k].operands[i];
      if (operand < 0 || !found.chain.single[static_cast<size_t>(operand)]) moved += size(program.inputs(s)[i]);
    }
  }
  for (size_t i = 0; i < found.inputs.size(); ++i) {
    if (!found.chain.single[i]) moved -= size(found.inputs[i].value);
  }
  return moved * found.chain.elements;
}

}  // namespace emplace
