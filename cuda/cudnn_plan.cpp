#include "cuda/cudnn_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/cat.h"
#include "cuda/cudnn.h"
#include "cuda/log.h"

namespace emplace::cuda::cudnn {
namespace {

/// One handle per logical GPU: cuDNN's own streams take the priority of the stream that was set last. Its stream is set
/// for each call, by one thread at a time. The next GPU in a place of a card takes the handle over.
struct GpuHandle {
  std::mutex mutex;
  Handle handle = nullptr;
};
Result<GpuHandle*> handle_of(const Functions& f, const DeviceState& device) {
  static std::mutex mutex;
  static auto* const kHandles = new std::map<std::array<int, 3>, GpuHandle>;
  std::lock_guard lock(mutex);
  GpuHandle& gpu = (*kHandles)[{device.device, device.place, device.stream_priority}];
  if (!gpu.handle) {
    Status made = status_of(f, f.create(&gpu.handle), "cudnnCreate");
    if (!made.ok()) return unavailable(made.message());
  }
  return &gpu;
}

class Plan final : public ConvPlan {
 public:
  Plan(const Functions& f, GpuHandle& gpu, Choice choice) : f_(f), gpu_(gpu), choice_(std::move(choice)) {}

  size_t workspace_bytes() const override { return static_cast<size_t>(choice_.workspace_bytes); }

  Status run(cudaStream_t stream, const ConvTensors& tensors, void* workspace) const override {
    void* const pointers[3] = {tensors.image, tensors.filter, tensors.out};
    ASSIGN_OR_RETURN(Descriptor pack, Descriptor::make(f_, Kind::kVariantPack));
    RETURN_IF_ERROR(pack.set(Attribute::kPackIds, Type::kInt64, 3, kIds));
    RETURN_IF_ERROR(pack.set(Attribute::kPackPointers, Type::kPointer, 3, pointers));
    RETURN_IF_ERROR(pack.set(Attribute::kPackWorkspace, Type::kPointer, workspace));
    RETURN_IF_ERROR(pack.finalize());
    std::lock_guard lock(gpu_.mutex);
    RETURN_IF_ERROR(status_of(f_, f_.set_stream(gpu_.handle, stream), "cudnnSetStream"));
    return status_of(f_, f_.execute(gpu_.handle, choice_.plan.handle(), pack.handle()), "cudnnBackendExecute");
  }

 private:
  const Functions& f_;
  GpuHandle& gpu_;
  Choice choice_;
};

struct Promises {
  bool in_order;  // sums in one order, hence the same bytes on every run
  bool exact;     // inputs as they are
};

/// Does the engine do what nobody allowed?
Result<bool> breaks(const Promises& promises, const Functions& f, const Descriptor& config) {
  ASSIGN_OR_RETURN(Descriptor engine, Descriptor::make(f, Kind::kEngine));
  DescriptorHandle handle = engine.handle();
  int64_t count = 0;
  RETURN_IF_ERROR(config.get(Attribute::kConfigEngine, Type::kDescriptor, 1, count, &handle));
  std::array<Note, static_cast<size_t>(Note::kCount)> notes{};
  RETURN_IF_ERROR(
      engine.get(Attribute::kEngineNotes, Type::kNote, static_cast<int64_t>(notes.size()), count, notes.data()));
  return std::any_of(
      notes.begin(), notes.begin() + std::min<int64_t>(count, static_cast<int64_t>(notes.size())), [&](Note note) {
        return note == Note::kDownConvert || note == Note::kReducedReduction ||
               (note == Note::kNondeterministic && promises.in_order) || (note == Note::kTensorCore && promises.exact);
      });
}

/// In cuDNN's order, the best first.
Result<std::vector<Descriptor>> engine_configs(const Functions& f, const ConvGraph& graph, Heuristic mode,
                                               const Target& target) {
  constexpr int64_t kMost = 64;  // cuDNN 9.19 has up to 40; those for exact floats come late
  ASSIGN_OR_RETURN(Descriptor heuristics, Descriptor::make(f, Kind::kHeuristics));
  RETURN_IF_ERROR(heuristics.set(Attribute::kHeuristicGraph, graph.graph));
  RETURN_IF_ERROR(heuristics.set(Attribute::kHeuristicMode, Type::kHeuristicMode, mode));
  if (!target.handle) RETURN_IF_ERROR(heuristics.set(Attribute::kHeuristicCard, *target.described));
  RETURN_IF_ERROR(heuristics.finalize());
  std::vector<Descriptor> configs;
  std::array<DescriptorHandle, kMost> handles{};
  for (DescriptorHandle& handle : handles) {
    ASSIGN_OR_RETURN(Descriptor config, Descriptor::make(f, Kind::kEngineConfig));
    handle = config.handle();
    configs.push_back(std::move(config));
  }
  int64_t count = 0;
  RETURN_IF_ERROR(heuristics.get(Attribute::kHeuristicResults, Type::kDescriptor, kMost, count, handles.data()));
  configs.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, kMost)));
  return configs;
}

Result<Descriptor> plan_of(const Functions& f, const Target& target, const Descriptor& config,
                           int64_t& workspace_bytes) {
  ASSIGN_OR_RETURN(Descriptor plan, Descriptor::make(f, Kind::kPlan));
  RETURN_IF_ERROR(target.handle ? plan.set(Attribute::kPlanHandle, Type::kHandle, target.handle)
                                : plan.set(Attribute::kPlanCard, *target.described));
  RETURN_IF_ERROR(plan.set(Attribute::kPlanConfig, config));
  RETURN_IF_ERROR(plan.finalize());
  int64_t count = 0;
  RETURN_IF_ERROR(plan.get(Attribute::kPlanWorkspace, Type::kInt64, 1, count, &workspace_bytes));
  return plan;
}

/// By one list of proposals. `refused` becomes why not.
std::optional<Choice> choose_from(std::vector<Descriptor> configs, const Functions& f, const Promises& promises,
                                  const Target& target, int64_t workspace_limit, std::string& refused) {
  for (Descriptor& config : configs) {
    auto broken = breaks(promises, f, config);
    if (!broken.ok() || *broken) {
      refused = broken.ok() ? "every engine of cuDNN's would round inputs, or give other bytes on every run"
                            : broken.status().message();
      continue;
    }
    int64_t workspace_bytes = 0;
    auto plan = plan_of(f, target, config, workspace_bytes);
    if (!plan.ok()) {
      refused = plan.status().message();
    } else if (workspace_bytes > workspace_limit) {
      refused = cat("cuDNN wants ", workspace_bytes, " bytes of workspace, a kernel gets ", workspace_limit);
    } else {
      return Choice{{}, std::move(config), plan.take(), workspace_bytes};
    }
  }
  return {};
}

}  // namespace

// Sums of atomic additions only where cuDNN has nothing else: recorded steps shall give the bytes of eager ones.
Result<Choice> choose(const Functions& f, const ConvProblem& problem, const DeviceState& device, const Target& target) {
  auto graph = conv_graph(f, problem, target.handle);
  if (!graph.ok()) return unavailable(graph.status().message());
  std::string refused = "cuDNN proposes no engine";
  for (bool in_order : {true, false}) {
    if (!in_order && device.deterministic) break;
    const Promises promises{in_order, problem.type == DType::kFloat && !device.tf32};
    for (Heuristic mode : {Heuristic::kA, Heuristic::kFallback}) {
      auto configs = engine_configs(f, *graph, mode, target);
      if (!configs.ok()) {
        refused = configs.status().message();
        continue;
      }
      if (auto choice = choose_from(configs.take(), f, promises, target, device.workspace_limit, refused)) {
        choice->graph = graph.take();
        return std::move(*choice);
      }
    }
  }
  return unavailable(std::move(refused));
}

Result<std::shared_ptr<const ConvPlan>> make_plan(const Functions& f, const ConvProblem& problem,
                                                  const DeviceState& device) {
  ASSIGN_OR_RETURN(GpuHandle* const gpu, handle_of(f, device));
  ASSIGN_OR_RETURN(Choice choice, choose(f, problem, device, {gpu->handle}));
  return std::shared_ptr<const ConvPlan>(std::make_shared<Plan>(f, *gpu, std::move(choice)));
}

Result<std::shared_ptr<const ConvPlan>> make_plan(const ConvProblem& problem, const DeviceState& device) {
  const Result<Functions>& loaded = functions();
  if (!loaded.ok()) {
    static std::once_flag said;
    std::call_once(said, [&] {
      say(LogLevel::kWarning, cat(loaded.status().message(), "; convolutions run on emplace's own kernel"));
    });
    return loaded.status();
  }
  return make_plan(*loaded, problem, device);
}

}  // namespace emplace::cuda::cudnn
