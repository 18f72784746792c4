/// The tensors that cross devices, as TensorFlow's partitioner would send them (graph_partition.cc): shared per
/// tensor, destination and memory kind; never shared for outputs of reference type.
#pragma once

#include <optional>
#include <vector>

#include "core/place/placement.h"

namespace emplace {

enum class MemoryKind : uint8_t { kDevice, kHost };

struct Copy {
  Endpoint tensor;
  DeviceId from = kNoDevice, to = kNoDevice;
  MemoryKind received_in = MemoryKind::kDevice;
  bool control = false;              // a control edge: a dummy constant is sent
  bool inside = false;               // between a GPU's memory and its host memory, from == to
  std::optional<int64_t> bytes;      // of one step, where the shape is known
  std::vector<NodeId> readers;
};

/// Control-flow nodes that the partitioner runs elsewhere than the placement says; copies follow the move.
struct Move {
  NodeId node;
  DeviceId device;
};

struct CopyPlan {
  std::vector<Copy> copies;
  std::vector<Move> moves;
};

CopyPlan plan_copies(const GraphFile& file, const DeviceSet& devices, const Placement& placement);

/// Where the kernel of `node` on a device of type `device_type` wants input `i` / leaves output `i`.
MemoryKind input_memory(const GraphFile& file, NodeId node, int i, std::string_view device_type);
MemoryKind output_memory(const GraphFile& file, NodeId node, int i, std::string_view device_type);

}  // namespace emplace
