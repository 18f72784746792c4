/// The tensors that cross devices, as TensorFlow's partitioner would send them (graph_partition.cc): shared per
/// tensor, destination and memory kind; never shared for outputs of reference type.
#pragma once

#include <optional>
#include <vector>

#include "core/partition/memory_kind.h"
#include "core/partition/move.h"
#include "core/place/placement.h"

namespace emplace {

struct Copy {
  Endpoint tensor;
  DeviceId from = kNoDevice, to = kNoDevice;
  MemoryKind sent_from = MemoryKind::kDevice, received_in = MemoryKind::kDevice;
  bool control = false;          // a control edge: a dummy constant is sent
  bool inside = false;           // between a GPU's memory and its host memory, from == to
  std::optional<int64_t> bytes;  // of one step, where the shape is known
  std::vector<NodeId> readers;   // empty: only a control loop reads it (the LoopCond of a loop on two devices)
};

struct CopyPlan {
  std::vector<Copy> copies;  // by first reader
  std::vector<Copy> feeds;   // of fed tensors to where they are read, from kNoDevice: the host; likewise
  std::vector<Move> moves;   // by node

  /// Tensors sent to other devices: what users call copies. Feeds are none.
  int64_t num_across() const;
  /// Bytes of those, where they are known.
  int64_t bytes_across() const;
};

/// `fed`: what is fed beside placeholders, so that the host has it, wherever the node that it stands for was placed.
/// Null: placeholders are nodes as any other, as TensorFlow's partitioner sees a graph.
CopyPlan plan_copies(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                     const std::vector<Endpoint>* fed = nullptr);

}  // namespace emplace
