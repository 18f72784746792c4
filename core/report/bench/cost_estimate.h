/// What a node costs on a device, by tables of costs: said of the node, measured of its kernel, interpolated between
/// kernels of other shapes, or worked out from what a described device can do.
#pragma once

#include <optional>
#include <string_view>

#include "core/graph/graph.h"
#include "core/report/bench/cost_table.h"

namespace emplace {

enum class CostSource : uint8_t { kMeasured, kInterpolated, kDescribed };
std::string_view cost_source_name(CostSource source);

struct CostEstimate {
  double us = 0, spread = 0;  // spread: median distance, as a share
  CostSource source = CostSource::kMeasured;
};

/// Constants, variables, what is fed: there before a step, or handed over.
bool takes_no_time(const OpTraits& traits);

class CostEstimates {
 public:
  /// All outlive it.
  CostEstimates(const CostTable& table, const Graph& graph, const DeviceSet& devices);

  /// Nothing: nobody knows.
  std::optional<CostEstimate> of(NodeId node, DeviceId device) const;
  /// Bytes of an output; nothing: nobody knows.
  std::optional<double> output_bytes(Endpoint output) const;
  /// Bytes held for the whole step, as the table says.
  double resident_bytes(NodeId node, DeviceId device) const;

 private:
  std::optional<CostEstimate> of_kernel(NodeId node, std::string_view type) const;
  std::optional<CostEstimate> of_other_simulated(NodeId node, const Device& device) const;
  std::optional<CostEstimate> by_roofline(NodeId node, DeviceId device) const;

  const CostTable& table_;
  const Graph& graph_;
  const DeviceSet& devices_;
};

}  // namespace emplace
