/// What control flow does to a partition (graph_partition.cc, control_flow.cc): nodes that move to a neighbour's
/// device, and loops that run on several devices.
#pragma once

#include <vector>

#include "core/partition/move.h"

namespace emplace {

/// Switch and Exit go where their data input is, Enter and NextIteration where their first data consumer is, each when
/// TensorFlow looks at it: one that moves later is still where it was. Changes `device` (by node), and says which nodes
/// are elsewhere than before, by id.
std::vector<Move> move_control_flow(const Graph& graph, std::vector<DeviceId>& device);

/// A device that runs iterations of a loop it does not own: the value of LoopCond is sent to it.
struct RemoteLoop {
  NodeId loop_cond;
  DeviceId device;
};
/// For every edge inside a loop that crosses devices: the edge's frame and the frames around it, on the device that
/// receives. Each pair once.
std::vector<RemoteLoop> find_remote_loops(const Graph& graph, const std::vector<DeviceId>& device);

}  // namespace emplace
