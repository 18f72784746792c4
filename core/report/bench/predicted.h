/// What --auto had predicted of a step, beside what was measured: the step, each device, each way of copies, and nodes
/// whose costs were wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/report/bench/cost_estimate.h"
#include "core/report/bench/node_costs.h"

namespace emplace {

/// Times are microseconds of one step.
struct PredictedStep {
  struct Way {
    DeviceId from = kNoDevice, to = kNoDevice;
    double us = 0;
  };
  double us = 0, low_us = 0, high_us = 0;
  std::vector<double> compute_us;                         // by DeviceId
  std::vector<Way> copies;                                // each way once
  std::vector<std::optional<CostEstimate>> node_costs{};  // NodeId * devices + device; empty: of another graph
};

/// A node whose measured time is more than three spreads from what its cost says, of the two spreads the larger one.
struct WrongCost {
  NodeId node = kNoNode;
  DeviceId device = kNoDevice;
  double predicted_us = 0, measured_us = 0;
};
/// The largest difference first.
std::vector<WrongCost> wrong_costs(const PredictedStep& predicted, const StepCosts& measured, size_t devices);

/// Lines for `bench`. `step_us`: the median of the measured steps.
std::string predicted_text(const PredictedStep& predicted, const StepCosts& measured, double step_us,
                           const Graph& graph, const DeviceSet& devices);
/// The member "predicted".
void write_predicted(JsonWriter& json, const PredictedStep& predicted, const StepCosts& measured, double step_us,
                     const Graph& graph, const DeviceSet& devices);

}  // namespace emplace
