#include "cuda/cudnn_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <vector>

#include "core/base/cat.h"
#include "cuda/cudnn.h"

namespace emplace::cuda::cudnn {
namespace {

/// One handle per card. Its stream is set for each call, by one thread at a time.
struct CardHandle {
  std::mutex mutex;
  Handle handle = nullptr;
};
Result<CardHandle*> handle_of(const Functions& f, int device) {
  constexpr int kMaxCards = 64;
  static std::array<CardHandle, kMaxCards> handles;
  if (device >= kMaxCards) return unavailable("so many cards");
  CardHandle& card = handles[static_cast<size_t>(device)];
  std::lock_guard lock(card.mutex);
  if (!card.handle) {
    Status made = status_of(f, f.create(&card.handle), "cudnnCreate");
    if (!made.ok()) return unavailable(made.message());
  }
  return &card;
}

class Plan final : public ConvPlan {
 public:
  Plan(const Functions& f, CardHandle& card, ConvGraph graph, Descriptor plan, int64_t workspace_bytes)
      : f_(f), card_(card), graph_(std::move(graph)), plan_(std::move(plan)), workspace_bytes_(workspace_bytes) {}

  size_t workspace_bytes() const override { return static_cast<size_t>(workspace_bytes_); }

  Status run(cudaStream_t stream, const ConvTensors& tensors, void* workspace) const override {
    void* const pointers[3] = {tensors.image, tensors.filter, tensors.out};
    ASSIGN_OR_RETURN(Descriptor pack, Descriptor::make(f_, Kind::kVariantPack));
    RETURN_IF_ERROR(pack.set(Attribute::kPackIds, Type::kInt64, 3, kIds));
    RETURN_IF_ERROR(pack.set(Attribute::kPackPointers, Type::kPointer, 3, pointers));
    RETURN_IF_ERROR(pack.set(Attribute::kPackWorkspace, Type::kPointer, workspace));
    RETURN_IF_ERROR(pack.finalize());
    std::lock_guard lock(card_.mutex);
    RETURN_IF_ERROR(status_of(f_, f_.set_stream(card_.handle, stream), "cudnnSetStream"));
    return status_of(f_, f_.execute(card_.handle, plan_.handle(), pack.handle()), "cudnnBackendExecute");
  }

 private:
  const Functions& f_;
  CardHandle& card_;
  ConvGraph graph_;
  Descriptor plan_;
  int64_t workspace_bytes_;
};

/// Does the engine do what nobody allowed?
Result<bool> breaks_promise(const Functions& f, const Descriptor& config, const ConvProblem& problem, const DeviceState& device) {
  ASSIGN_OR_RETURN(Descriptor engine, Descriptor::make(f, Kind::kEngine));
  DescriptorHandle handle = engine.handle();
  int64_t count = 0;
  RETURN_IF_ERROR(config.get(Attribute::kConfigEngine, Type::kDescriptor, 1, count, &handle));
  std::array<Note, static_cast<size_t>(Note::kCount)> notes{};
  RETURN_IF_ERROR(engine.get(Attribute::kEngineNotes, Type::kNote, static_cast<int64_t>(notes.size()), count, notes.data()));
  return std::any_of(notes.begin(), notes.begin() + std::min<int64_t>(count, static_cast<int64_t>(notes.size())), [&](Note note) {
    return note == Note::kDownConvert || note == Note::kReducedReduction || (note == Note::kNondeterministic && device.deterministic) ||
           (note == Note::kTensorCore && problem.type == DType::kFloat && !device.tf32);
  });
}

/// In cuDNN's order, the best first.
Result<std::vector<Descriptor>> engine_configs(const Functions& f, const ConvGraph& graph, Heuristic mode) {
  constexpr int64_t kMost = 32;
  ASSIGN_OR_RETURN(Descriptor heuristics, Descriptor::make(f, Kind::kHeuristics));
  RETURN_IF_ERROR(heuristics.set(Attribute::kHeuristicGraph, graph.graph));
  RETURN_IF_ERROR(heuristics.set(Attribute::kHeuristicMode, Type::kHeuristicMode, mode));
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

Result<Descriptor> plan_of(const Functions& f, Handle handle, const Descriptor& config, int64_t& workspace_bytes) {
  ASSIGN_OR_RETURN(Descriptor plan, Descriptor::make(f, Kind::kPlan));
  RETURN_IF_ERROR(plan.set(Attribute::kPlanHandle, Type::kHandle, handle));
  RETURN_IF_ERROR(plan.set(Attribute::kPlanConfig, config));
  RETURN_IF_ERROR(plan.finalize());
  int64_t count = 0;
  RETURN_IF_ERROR(plan.get(Attribute::kPlanWorkspace, Type::kInt64, 1, count, &workspace_bytes));
  return plan;
}

}  // namespace

Result<std::shared_ptr<const ConvPlan>> make_plan(const ConvProblem& problem, const DeviceState& device) {
  const Result<Functions>& loaded = functions();
  if (!loaded.ok()) {
    static std::once_flag said;
    std::call_once(said, [&] { std::fprintf(stderr, "warning: %s; convolutions run on emplace's own kernel\n", loaded.status().message().c_str()); });
    return loaded.status();
  }
  const Functions& f = *loaded;
  ASSIGN_OR_RETURN(CardHandle* const card, handle_of(f, device.device));
  auto graph = conv_graph(f, problem, card->handle);
  if (!graph.ok()) return unavailable(graph.status().message());
  std::string refused = "cuDNN proposes no engine";
  for (Heuristic mode : {Heuristic::kA, Heuristic::kFallback}) {
    auto configs = engine_configs(f, *graph, mode);
    if (!configs.ok()) {
      refused = configs.status().message();
      continue;
    }
    for (const Descriptor& config : *configs) {
      auto breaks = breaks_promise(f, config, problem, device);
      if (!breaks.ok() || *breaks) {
        refused = breaks.ok() ? "every engine of cuDNN's would round inputs, or give other bytes on every run" : breaks.status().message();
        continue;
      }
      int64_t workspace_bytes = 0;
      auto plan = plan_of(f, card->handle, config, workspace_bytes);
      if (!plan.ok()) {
        refused = plan.status().message();
      } else if (workspace_bytes > device.workspace_limit) {
        refused = cat("cuDNN wants ", workspace_bytes, " bytes of workspace, a kernel gets ", device.workspace_limit);
      } else {
        return std::shared_ptr<const ConvPlan>(std::make_shared<Plan>(f, *card, graph.take(), plan.take(), workspace_bytes));
      }
    }
  }
  return unavailable(std::move(refused));
}

}  // namespace emplace::cuda::cudnn
