#include "core/run/live_set.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {
namespace {

constexpr size_t kShown = 10;

using Producer = std::pair<std::string, int64_t>;

std::vector<Producer> live_in(DeviceId device, const Graph& graph, const Program& program, const Plan& plan,
                              const Runtime& runtime, InstructionId at, std::span<const Tensor> values) {
  std::vector<Producer> live = runtime.variables[device]->sizes();
  for (ValueId v = 0; v < values.size(); ++v) {
    const PlacedValue& value = program.values[v];
    const ValuePlan& p = plan.values[v];
    if (value.home != device || is_ref(value.dtype) || value.dtype == DType::kResource || value.dtype == DType::kString)
      continue;
    bool planned = p.storage == Storage::kBlock && p.buffer == v && value.producer <= at && p.last_use >= at;
    bool constant = p.storage == Storage::kFixed;
    bool dynamic = p.storage == Storage::kSlot && values[v].valid() && values[v].buffer();
    if (planned || constant || dynamic)
      live.emplace_back(graph.name(value.tensor.node), static_cast<int64_t>(values[v].size_bytes()));
  }
  std::stable_sort(live.begin(), live.end(), [](const Producer& a, const Producer& b) { return a.second > b.second; });
  return live;
}

}  // namespace

std::string live_set_text(const Graph& graph, const Program& program, const Plan& plan, const Runtime& runtime,
                          InstructionId at, std::span<const Tensor> values) {
  const DeviceId device = program.instructions[at].device;
  auto live = live_in(device, graph, program, plan, runtime, at, values);
  std::string text = cat("\nlive in ", runtime.devices.at(device).name, ":");
  for (size_t i = 0; i < std::min(kShown, live.size()); ++i)
    append(text, i ? ", " : " ", live[i].first, " (", size_text(live[i].second), ")");
  if (live.size() > kShown) append(text, " and ", live.size() - kShown, " more");
  if (live.empty()) append(text, " nothing");
  return text;
}

}  // namespace emplace
