// Chains of elementwise nodes on GPUs: one kernel runs in their place, if it can be had.
#include <algorithm>
#include <limits>

#include "core/run/executor.h"
#include "core/run/gpu_chains.h"
#include "core/run/gpu_kernels.h"

namespace emplace {
namespace {

// What a kernel spares: rough figures of a current card.
constexpr double kNsPerByte = 1 / 3000.0, kNsPerLaunch = 2000;

}  // namespace

/// What is launched for a chain.
class Executor::ChainKernel final : public Kernel {
 public:
  ChainKernel(Executor& executor, BoundChain& chain) : executor_(executor), chain_(chain) {}
  Status run(KernelContext& c) override { return executor_.run_chain(chain_, c); }

 private:
  Executor& executor_;
  BoundChain& chain_;
};

bool Executor::fuses_on_gpus() const {
  const GpuRunOptions& o = runtime_.gpu_options;
  return !gpus_.empty() && !runtime_.observer && !o.sync_every_node && o.fuse != GpuFuse::kNever;
}

double Executor::saved_ns(const FoundChain& found) const {
  if (runtime_.gpu_options.fuse == GpuFuse::kAlways) return std::numeric_limits<double>::infinity();
  const double a_step = kNsPerByte * static_cast<double>(bytes_saved(found, program_)) +
                        kNsPerLaunch * static_cast<double>(found.chain.ops.size() - 1);
  return a_step * static_cast<double>(runtime_.gpu_options.steps_to_come);
}

void Executor::fuse_on_gpus() {
  if (!fuses_on_gpus()) return;
  std::vector<FoundChain> found = find_gpu_chains(graph_, program_, plan_, devices_, bound_);
  if (found.empty()) return;
  auto add = [](Plan& plan, const FusedGroup& group) {
    auto later = [](const FusedGroup& a, const FusedGroup& b) { return a.first() < b.first(); };
    plan.groups.insert(std::upper_bound(plan.groups.begin(), plan.groups.end(), group, later), group);
  };
  // Who else reads a result is what a memory plan finds out.
  Plan trial = plan_;
  for (const FoundChain& f : found) add(trial, f.group);
  plan_memory(file_, program_, trial);
  for (FoundChain& f : found) {
    for (size_t k = 0; k < f.chain.ops.size(); ++k) {
      f.chain.ops[k].stored =
          trial.values[program_.outputs(program_.instructions[f.group.instructions[k]])[0]].storage != Storage::kTile;
    }
    f.chain.saved_ns = saved_ns(f);
    Gpu& gpu = *runtime_.gpus[program_.instructions[f.group.first()].device];
    Result<std::unique_ptr<Kernel>> kernel = gpu.compile(f.chain);
    if (!kernel.ok()) continue;
    add(plan_, f.group);
    const InstructionId first = f.group.first();
    chains_[first] = {std::move(f), kernel.take(), {}, {}, {}};
  }
}

std::unique_ptr<Kernel> Executor::bind_chain(BoundChain& chain) {
  auto place = [&](std::vector<Tensor>& tensors, ValueId v) { tensors.push_back(values_[v]); };
  for (const FoundChain::Input& in : chain.found.inputs) place(chain.inputs, in.value);
  for (size_t k = 0; k < chain.found.chain.ops.size(); ++k) {
    if (chain.found.chain.ops[k].stored)
      place(chain.outputs, program_.outputs(program_.instructions[chain.found.group.instructions[k]])[0]);
  }
  chain.context.inputs_ = chain.inputs;
  chain.context.outputs_ = chain.outputs;
  Gpu& gpu = *runtime_.gpus[program_.instructions[chain.found.group.first()].device];
  return std::make_unique<GpuNodeKernel>(std::make_unique<ChainKernel>(*this, chain), gpu, false);
}

// What is found anew (variables, mostly) is let go when the work is enqueued: whoever writes it comes later on the same
// GPU.
Status Executor::run_chain(BoundChain& chain, const KernelContext& c) {
  for (InstructionId id : chain.found.reads) RETURN_IF_ERROR(failed(gather(id), id));
  for (size_t i = 0; i < chain.inputs.size(); ++i) {
    const FoundChain::Input& in = chain.found.inputs[i];
    if (plan_.values[in.value].storage == Storage::kSlot) chain.inputs[i] = bound_[in.instruction].context.inputs_[in.index];
  }
  chain.context.stream_ = c.stream_;
  RETURN_IF_ERROR(chain.kernel->run(chain.context));
  for (InstructionId id : chain.found.reads) {
    for (Tensor& t : bound_[id].context.inputs_) t = Tensor();
    release(id);
  }
  for (size_t i = 0; i < chain.inputs.size(); ++i) {
    if (plan_.values[chain.found.inputs[i].value].storage == Storage::kSlot) chain.inputs[i] = Tensor();
  }
  return ok_status();
}

// The group that a step is in.
const FusedGroup* Executor::group_at(InstructionId id) const {
  auto next = std::upper_bound(plan_.groups.begin(), plan_.groups.end(), id,
                               [](InstructionId step, const FusedGroup& g) { return step < g.first(); });
  if (next == plan_.groups.begin()) return nullptr;
  const FusedGroup& group = *std::prev(next);
  return id <= group.last() ? &group : nullptr;
}

}  // namespace emplace
