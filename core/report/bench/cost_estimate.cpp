#include "core/report/bench/cost_estimate.h"

#include <algorithm>
#include <cmath>

#include "core/report/bench/flops.h"
#include "core/report/bench/node_costs.h"

namespace emplace {
namespace {

/// Of times that nobody measured, and the most where something alike was.
constexpr double kGuessSpread = 0.5;

/// "float32 float32": what kernels of a key work on, without shapes and attributes.
std::string types_of_key(std::string_view key) {
  std::string types;
  while (!key.empty()) {
    const std::string_view word = key.substr(0, key.find(' '));
    key.remove_prefix(std::min(key.size(), word.size() + 1));
    const size_t bracket = word.find('[');
    if (bracket == std::string_view::npos || word.find('=') < bracket) continue;
    types.append(types.empty() ? "" : " ").append(word.substr(0, bracket));
  }
  return types;
}

double bytes_of(const Graph& g, NodeId node) {
  const std::optional<int64_t> in = input_bytes(g, node), out = output_bytes(g, node);
  return in && out ? static_cast<double>(*in + *out) : 0;
}

/// How much work a kernel has: operations, or, where few are done with each byte, bytes.
double work_of(double flops, double bytes) { return flops > bytes ? flops : bytes; }

std::optional<CostEstimate> interpolated(const std::vector<const KernelCost*>& kernels, double work) {
  const KernelCost *below = nullptr, *above = nullptr;
  double below_work = 0, above_work = 0;
  for (const KernelCost* k : kernels) {
    const double w = work_of(k->flops, k->bytes);
    if (w <= 0) continue;
    if (w <= work && (!below || w > below_work)) below = k, below_work = w;
    if (w >= work && (!above || w < above_work)) above = k, above_work = w;
  }
  if (below && above) {
    const double share = above_work > below_work ? (work - below_work) / (above_work - below_work) : 0.5;
    const double us = below->us + share * (above->us - below->us);
    const double distance = us > 0 ? std::abs(above->us - below->us) / us : 0;
    return CostEstimate{us, std::min(distance, kGuessSpread), CostSource::kInterpolated};
  }
  if (below) return CostEstimate{below->us * work / below_work, kGuessSpread, CostSource::kInterpolated};
  // What is smaller takes no longer; how much less, the start of a kernel hides.
  if (above) return CostEstimate{above->us, kGuessSpread, CostSource::kInterpolated};
  return {};
}

double capability_of(const Device& device, const char* name) {
  const auto at = device.capability.find(name);
  return at == device.capability.end() || !std::isfinite(at->second) ? 0 : std::max(0.0, at->second);
}

}  // namespace

std::string_view cost_source_name(CostSource source) {
  switch (source) {
    case CostSource::kMeasured:
      return "measured";
    case CostSource::kInterpolated:
      return "interpolated";
    case CostSource::kDescribed:
      break;
  }
  return "described";
}

bool takes_no_time(const OpTraits& traits) {
  return traits.constant || traits.placeholder || traits.variable || traits.does_nothing;
}

CostEstimates::CostEstimates(const CostTable& table, const Graph& graph, const DeviceSet& devices)
    : table_(table), graph_(graph), devices_(devices) {}

std::optional<CostEstimate> CostEstimates::of(NodeId node, DeviceId device) const {
  const std::string_view name = graph_.name(node);
  if (const std::optional<double> us = table_.node_us(name, devices_, device))
    return CostEstimate{*us, table_.nodes.find(name)->second.spread, CostSource::kMeasured};
  const Device& d = devices_.at(device);
  if (const auto cost = of_kernel(node, d.type)) return cost;
  if (takes_no_time(graph_.traits(node))) return CostEstimate{};
  if (const auto cost = of_other_simulated(node, d)) return cost;
  return by_roofline(node, device);
}

// Simulated GPUs run the CPU's kernels: where there are some, what was measured of one is true of the other.
std::optional<CostEstimate> CostEstimates::of_other_simulated(NodeId node, const Device& device) const {
  bool simulated = false;
  for (const Device& d : devices_.devices) simulated = simulated || d.kind == DeviceKind::kSimulatedGpu;
  if (!simulated || device.kind == DeviceKind::kCuda) return {};
  const std::string other = device.type == "GPU" ? "CPU" : "GPU";
  const auto row = table_.nodes.find(graph_.name(node));
  if (row != table_.nodes.end()) {
    for (const std::string& where : {other, other + ":0"}) {
      if (const auto us = row->second.us.find(where); us != row->second.us.end())
        return CostEstimate{us->second, row->second.spread, CostSource::kMeasured};
    }
  }
  return of_kernel(node, other);
}

std::optional<CostEstimate> CostEstimates::of_kernel(NodeId node, std::string_view type) const {
  const auto kernels = table_.kernels.find({std::string(graph_.op(node)), std::string(type)});
  if (kernels == table_.kernels.end()) return {};
  const std::string key = cost_key(graph_, node);
  if (key.empty()) return {};
  const std::string types = types_of_key(key);
  std::vector<const KernelCost*> alike;
  for (const KernelCost& k : kernels->second) {
    if (k.key == key) return CostEstimate{k.us, k.spread, CostSource::kMeasured};
    if (types_of_key(k.key) == types) alike.push_back(&k);
  }
  const double work = work_of(static_cast<double>(flops_of(graph_, node).value_or(0)), bytes_of(graph_, node));
  return work > 0 ? interpolated(alike, work) : std::nullopt;
}

std::optional<CostEstimate> CostEstimates::by_roofline(NodeId node, DeviceId device) const {
  const Device& d = devices_.at(device);
  double peak = capability_of(d, "peak_flops.float32"), memory = capability_of(d, "memory_bytes_per_s");
  CostSource source = CostSource::kDescribed;
  if (d.type == "CPU" && peak <= 0 && memory <= 0) {
    peak = table_.flops_per_s, memory = table_.bytes_per_s;
    source = CostSource::kInterpolated;
  }
  if (peak <= 0 && memory <= 0) return {};
  const auto flops = static_cast<double>(flops_of(graph_, node).value_or(0));
  const double seconds = std::max(peak > 0 ? flops / peak : 0, memory > 0 ? bytes_of(graph_, node) / memory : 0);
  return CostEstimate{capability_of(d, "launch_us") + std::min(seconds * 1e6, 1e15), kGuessSpread, source};
}

std::optional<double> CostEstimates::output_bytes(Endpoint output) const {
  const auto row = table_.nodes.find(graph_.name(output.node));
  const size_t said = row == table_.nodes.end() ? 0 : row->second.outputs.size();
  // A table of a measurement has one number for all outputs.
  const bool each = said == graph_.num_outputs(output.node);
  if (each && output.slot < said) return row->second.outputs[output.slot];
  const std::optional<int64_t> elements = graph_.output_shape(output).checked_num_elements();
  if (elements) return static_cast<double>(*elements) * static_cast<double>(dtype_size(graph_.output_type(output)));
  if (output.slot < said) return row->second.outputs[output.slot];
  return {};
}

double CostEstimates::resident_bytes(NodeId node, DeviceId device) const {
  const auto row = table_.nodes.find(graph_.name(node));
  if (row == table_.nodes.end()) return 0;
  for (const std::string& where : names_in_costs(devices_, device)) {
    if (const auto bytes = row->second.resident.find(where); bytes != row->second.resident.end()) return bytes->second;
  }
  return 0;
}

}  // namespace emplace
