#include "core/report/bench/node_costs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

#include "core/base/cat.h"
#include "core/op/attr_text.h"
#include "core/report/bench/flops.h"
#include "core/report/bench/statistics.h"

namespace emplace {
namespace {

struct Samples {
  std::map<int64_t, double> by_step;  // us
  std::vector<double> each;           // us
  int64_t bytes = 0;
};

double relative_spread(const std::vector<double>& values) {
  const double median = median_of(values);
  return median > 0 ? median_deviation(values) / median : 0;
}

std::optional<int64_t> tensor_bytes(const Graph& g, Endpoint e, const SeenShapes* seen = nullptr) {
  const std::optional<int64_t> elements = best_known_shape(g, e, seen).checked_num_elements();
  const size_t size = dtype_size(base_type(g.output_type(e)));
  if (!elements || size == 0 || *elements > INT64_MAX / 16) return {};
  return *elements * static_cast<int64_t>(size);
}

/// Without those that something else got in the way of: beyond 5 median distances from the median.
std::vector<double> without_outliers(const std::vector<double>& values) {
  constexpr double kMost = 5;
  const double median = median_of(values), most = kMost * std::max(median_deviation(values), median / 100);
  std::vector<double> kept;
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
               [&](double v) { return std::abs(v - median) <= most; });
  return kept;
}

NodeCost cost_of_node(const Graph& g, NodeId node, DeviceId device, const Samples& samples, const SeenShapes* seen) {
  NodeCost cost;
  cost.node = node, cost.device = device;
  std::vector<double> of_steps;
  for (const auto& [step, us] : samples.by_step) of_steps.push_back(us);
  const std::vector<double> kept = without_outliers(of_steps);
  cost.us = cost.in_run_us = median_of(kept);
  cost.spread = relative_spread(kept);
  cost.steps = static_cast<int64_t>(kept.size());
  cost.dropped = static_cast<int64_t>(of_steps.size() - kept.size());
  cost.calls = static_cast<double>(samples.each.size()) / static_cast<double>(of_steps.size());
  cost.bytes_out = samples.bytes;
  cost.bytes_in = input_bytes(g, node, seen);
  cost.flops = flops_of(g, node, seen);
  return cost;
}

}  // namespace

std::optional<int64_t> input_bytes(const Graph& g, NodeId node, const SeenShapes* seen) {
  int64_t bytes = 0;
  for (const Endpoint& e : g.inputs(node)) {
    const std::optional<int64_t> of_one = tensor_bytes(g, e, seen);
    if (!of_one) return {};
    bytes += *of_one;
  }
  return bytes;
}

std::optional<int64_t> output_bytes(const Graph& g, NodeId node) {
  int64_t bytes = 0;
  for (uint32_t slot = 0; slot < g.num_outputs(node); ++slot) {
    const std::optional<int64_t> of_one = tensor_bytes(g, {node, slot});
    if (!of_one) return {};
    bytes += *of_one;
  }
  return bytes;
}

std::string cost_key(const Graph& g, NodeId node) {
  std::string key;
  for (const Endpoint& e : g.inputs(node)) {
    const Shape& shape = g.output_shape(e);
    if (!shape.fully_known()) return {};
    append(key, key.empty() ? "" : " ", dtype_name(g.output_type(e)), shape.to_string());
  }
  for (const auto& [name, value] : g.attrs(node).entries()) {
    if (name.starts_with('_') || value->get_if<DType>() != nullptr) continue;
    append(key, key.empty() ? "" : " ", name, "=", summarize_attr(*value));
  }
  return key;
}

StepCosts step_costs(const Graph& g, const TraceRecorder& trace, const SeenShapes* seen) {
  std::map<std::pair<NodeId, DeviceId>, Samples> nodes;
  std::map<std::tuple<NodeId, DeviceId, DeviceId>, Samples> copies;
  std::map<int64_t, char> steps;
  for (const Span& span : trace.spans()) {
    if (span.step < 0) continue;
    steps[span.step] = 1;
    Samples& of = span.what.is_copy() ? copies[{span.what.node, span.what.from, span.what.device}]
                                      : nodes[{span.what.node, span.what.device}];
    const double us = static_cast<double>(span.end_ns - span.start_ns) / 1e3;
    of.by_step[span.step] += us;
    of.each.push_back(us);
    of.bytes = span.bytes;
  }
  StepCosts costs;
  costs.steps = static_cast<int64_t>(steps.size());
  for (const auto& [what, samples] : nodes)
    costs.nodes.push_back(cost_of_node(g, what.first, what.second, samples, seen));
  for (const auto& [what, samples] : copies) {
    const auto& [node, from, to] = what;
    costs.copies.push_back(
        {node, from, to, median_of(samples.each), relative_spread(samples.each), samples.bytes,
         static_cast<double>(samples.each.size()) / static_cast<double>(std::max<size_t>(1, steps.size())),
         static_cast<int64_t>(samples.each.size())});
  }
  const auto by_time = [](const auto& x, const auto& y) { return x.us * x.calls > y.us * y.calls; };
  std::stable_sort(costs.nodes.begin(), costs.nodes.end(),
                   [](const NodeCost& x, const NodeCost& y) { return x.us > y.us; });
  std::stable_sort(costs.copies.begin(), costs.copies.end(), by_time);
  return costs;
}

}  // namespace emplace
