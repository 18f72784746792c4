#include "core/run/gpu_fusion.h"

#include <algorithm>
#include <limits>

#include "core/plan/memory_plan.h"

namespace emplace {
namespace {

// Time that one kernel less saves: rough figures of a current card.
constexpr double kSavedNsPerByte = 1 / 3000.0, kSavedNsPerLaunch = 2000;

void add_group(Plan& plan, const FusedGroup& group) {
  auto later = [](const FusedGroup& a, const FusedGroup& b) { return a.first() < b.first(); };
  plan.groups.insert(std::upper_bound(plan.groups.begin(), plan.groups.end(), group, later), group);
}

}  // namespace

/// What is launched for a chain.
class GpuFusion::LaunchedKernel final : public Kernel {
 public:
  LaunchedKernel(GpuFusion& fusion, BoundChain& chain) : fusion_(fusion), chain_(chain) {}
  Status run(KernelContext& c) override { return fusion_.run(chain_, c); }

 private:
  GpuFusion& fusion_;
  BoundChain& chain_;
};

bool GpuFusion::may_fuse() const {
  const GpuRunOptions& o = p_.runtime.gpu_options;
  return !p_.gpus.empty() && !p_.runtime.observer && !o.sync_every_node && o.fuse != GpuFuse::kNever;
}

double GpuFusion::saved_ns(const FoundChain& found) const {
  if (p_.runtime.gpu_options.fuse == GpuFuse::kAlways) return std::numeric_limits<double>::infinity();
  const double a_step = kSavedNsPerByte * static_cast<double>(bytes_saved(found, p_.program)) +
                        kSavedNsPerLaunch * static_cast<double>(found.chain.ops.size() - 1);
  return a_step * static_cast<double>(p_.runtime.gpu_options.steps_to_come);
}

void GpuFusion::fuse() {
  if (!may_fuse()) return;
  std::vector<FoundChain> found = find_gpu_chains(p_.file.graph, p_.program, p_.plan, p_.bound);
  if (found.empty()) return;
  // Whether others read the result, too, is left to the memory plan.
  Plan trial = p_.plan;
  for (const FoundChain& f : found) add_group(trial, f.group);
  plan_memory(p_.file, p_.program, trial);
  for (FoundChain& f : found) {
    for (size_t k = 0; k < f.chain.ops.size(); ++k) {
      const Instruction& s = p_.program.instructions[f.group.instructions[k]];
      f.chain.ops[k].stored = trial.values[p_.program.outputs(s)[0]].storage != Storage::kTile;
    }
    f.chain.saved_ns = saved_ns(f);
    const InstructionId first = f.group.first();
    Result<std::unique_ptr<Kernel>> kernel = p_.runtime.gpus[p_.program.instructions[first].device]->compile(f.chain);
    if (!kernel.ok()) continue;
    add_group(p_.plan, f.group);
    chains_[first] = {std::move(f), kernel.take(), {}, {}, {}, nullptr};
  }
}

GpuNodeKernel* GpuFusion::bind(InstructionId first) {
  auto at = chains_.find(first);
  if (at == chains_.end()) return nullptr;
  BoundChain& chain = at->second;
  for (const FoundChain::Input& in : chain.found.inputs) chain.inputs.push_back(p_.values[in.value]);
  for (size_t k = 0; k < chain.found.chain.ops.size(); ++k) {
    const Instruction& s = p_.program.instructions[chain.found.group.instructions[k]];
    if (chain.found.chain.ops[k].stored) chain.outputs.push_back(p_.values[p_.program.outputs(s)[0]]);
  }
  chain.context.inputs_ = chain.inputs;
  chain.context.outputs_ = chain.outputs;
  Gpu& gpu = *p_.runtime.gpus[p_.program.instructions[first].device];
  chain.launched = std::make_unique<GpuNodeKernel>(std::make_unique<LaunchedKernel>(*this, chain), gpu, false);
  return chain.launched.get();
}

GpuNodeKernel* GpuFusion::launched(InstructionId first) const {
  auto at = chains_.find(first);
  return at == chains_.end() ? nullptr : at->second.launched.get();
}

const std::vector<InstructionId>* GpuFusion::reads(InstructionId first) const {
  auto at = chains_.find(first);
  return at == chains_.end() ? nullptr : &at->second.found.reads;
}

// What is found anew (variables, mostly) is let go when the work is enqueued: whoever writes it comes later on the same
// GPU.
Status GpuFusion::run(BoundChain& chain, const KernelContext& c) {
  auto in_slot = [&](const FoundChain::Input& in) { return p_.plan.values[in.value].storage == Storage::kSlot; };
  for (InstructionId id : chain.found.reads) RETURN_IF_ERROR(p_.blame(operands_.gather(id), id));
  for (size_t i = 0; i < chain.inputs.size(); ++i) {
    const FoundChain::Input& in = chain.found.inputs[i];
    if (in_slot(in)) chain.inputs[i] = p_.bound[in.instruction].context.inputs_[in.index];
  }
  chain.context.stream_ = c.stream_;
  RETURN_IF_ERROR(chain.kernel->run(chain.context));
  for (InstructionId id : chain.found.reads) {
    operands_.let_go_of_inputs(id);
    operands_.release(id);
  }
  for (size_t i = 0; i < chain.inputs.size(); ++i) {
    if (in_slot(chain.found.inputs[i])) chain.inputs[i] = Tensor();
  }
  return ok_status();
}

}  // namespace emplace
