/// RunObserver: sees every node and every copy as it runs; for logs, checks of values, traces.
#pragma once

#include <span>

#include "core/base/status.h"
#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace emplace {

struct ObservedInstruction {
  NodeId node = kNoNode;        // of a copy: the node whose tensor is copied
  DeviceId device = kNoDevice;  // where it runs; of a copy: whose memory it goes to
  DeviceId from = kNoDevice;    // of a copy: whose memory it comes from
  uint32_t slot = 0;            // of a copy: which of the node's outputs
  bool is_copy() const { return from != kNoDevice; }
};

/// With an observer instructions run one at a time, in one order, each by itself (nothing is fused).
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Does it look at the outputs' elements? Else nodes whose results nobody needs are left out, as in a run that nobody
  /// watches: it is told of them, but their outputs hold other elements. One answer for good.
  virtual bool needs_values() const { return true; }
  /// A node, or a copy, is about to run.
  virtual void starting(const ObservedInstruction&) {}
  /// The outputs are there, in host memory or a simulated GPU's; an invalid tensor is a dead one. Constants are seen
  /// here only. An error ends the step with it.
  virtual Status finished(const ObservedInstruction&, std::span<const Tensor>) { return ok_status(); }
  /// Asked after finished(): did it write other elements into the outputs? Then readers of a GPU get these, too.
  virtual bool has_replaced() { return false; }
};

}  // namespace emplace
