/// What nodes and copies of a run cost, summed up from what a TraceRecorder saw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/report/bench/seen_shapes.h"
#include "core/run/trace.h"

namespace emplace {

struct NodeCost {
  NodeId node = kNoNode;
  DeviceId device = kNoDevice;
  double us = 0, spread = 0;  // of a step, alone: median over the steps; median distance from it, as a share
  double in_run_us = 0;       // of a step, as it runs when nobody watches: of nodes that are fused into one, its share
  double split_us = 0;        // of a step, more if a reader of its result were on another device: they run as one
  int64_t steps = 0;          // that it ran in and that count
  int64_t dropped = 0;        // that do not: more than 5 median distances from the median
  double calls = 0;           // of a step
  int64_t bytes_out = 0;      // of a call, of the last step
  std::optional<int64_t> bytes_in = {}, flops = {};  // of a call, where shapes are known
};

struct CopyCost {
  NodeId node = kNoNode;  // whose tensor it is
  DeviceId from = kNoDevice, to = kNoDevice;
  double us = 0, spread = 0;  // of a copy
  int64_t bytes = 0;          // of the last one
  double calls = 0;           // of a step
  int64_t samples = 0;
};

struct StepCosts {
  std::vector<NodeCost> nodes;   // by us, the largest first
  std::vector<CopyCost> copies;  // likewise
  int64_t steps = 0;
  bool one_at_a_time = false;  // nodes run on one thread, one after the other
};

/// Of steps from 0 on. Shapes that the graph leaves open are those of `seen`.
StepCosts step_costs(const Graph& graph, const TraceRecorder& trace, const SeenShapes* seen = nullptr);

/// Bytes of what a node reads or makes, where shapes and types are known.
std::optional<int64_t> input_bytes(const Graph& graph, NodeId node, const SeenShapes* seen = nullptr);
std::optional<int64_t> output_bytes(const Graph& graph, NodeId node);

/// "float32[512,512] float32[512,512] transpose_b=false": what a kernel's time depends on; "" if shapes are open.
std::string cost_key(const Graph& graph, NodeId node);

}  // namespace emplace
