/// Move: a control-flow node that the partitioner runs elsewhere than the placement says; copies follow it.
#pragma once

#include "core/device/device.h"
#include "core/graph/graph.h"

namespace emplace {

struct Move {
  NodeId node;
  DeviceId device;
};

}  // namespace emplace
