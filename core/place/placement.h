/// Placement: where every node runs, and why. Made by place(); never changed afterwards, so any number of threads
/// may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/device/device.h"
#include "core/graph/graph_file.h"
#include "core/graph/lower/origins.h"
#include "core/place/reason.h"

namespace emplace {

struct Decision {
  DeviceId device = kNoDevice;
  Reason reason = Reason::kNone;
  uint32_t group = 0;        // nodes with the same number are on one device by constraint
  NodeId because = kNoNode;  // the node that decided: the group's first placed member, the consumer, the source
};

struct Candidate {
  DeviceId device;
  Verdict verdict;
};

struct PlaceOptions {
  bool allow_soft_placement = false;
  bool log_device_placement = false;  // make the notes that TensorFlow logs while it places
  /// Node -> full device name, placed beforehand ("assigned devices").
  std::vector<std::pair<NodeId, std::string>> assigned;
  /// Requested devices that replace those of the file, sorted by node; made by resolve_requests() (overrides.h).
  std::vector<std::pair<NodeId, std::string>> overrides;
  /// Nodes without an override ask for nothing, whatever the file says.
  bool clear_devices = false;
  /// Only kernels that this emplace can execute (--kernels available).
  bool available_kernels_only = false;
  /// A device that is not there is told in the words of eager execution, of the first node that asks for one.
  bool eager_words = false;
  /// Of the nodes that lowering made, for the table of offenders; null: all nodes are the file's. Must outlive place().
  const Origins* origins = nullptr;
};

struct PlacerState;  // what explanations need: groups, kernels found, device names (core/place/placer_state.h)

class Placement {
 public:
  /// REQUIRES: the node belongs to the graph that was placed.
  const Decision& of(NodeId id) const { return decisions[id]; }
  DeviceId device(NodeId id) const { return decisions[id].device; }

  std::vector<Decision> decisions;                 // by node
  std::vector<NodeId> order;                       // assignment order, which is TensorFlow's log order
  std::vector<float> ranks;                        // by node, of --auto: of ready ones the highest goes first; or empty
  std::vector<std::pair<int, std::string>> notes;  // severity (0 info, 1 warning, 2 error), text as TensorFlow logs it
  std::shared_ptr<const PlacerState> state;        // refers to the file and the devices, which must outlive it
};

/// Places every node, or says why it cannot be: TensorFlow's status (its first error), and in `details` every
/// offender, one entry each, with the smallest set of nodes and edges that cannot hold together. `before_failure`, if
/// given, then gets what TensorFlow would have logged by that time: decisions, order and notes up to its first error.
Result<Placement> place(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                        std::vector<std::string>& details, Placement* before_failure = nullptr);

/// Every device with its verdict for `node`, device-set order.
std::vector<Candidate> candidates_of(const Placement& placement, NodeId node);

/// The sentence for a node's reason.
std::string reason_text(const Placement& placement, NodeId node);

/// What `node` asks for once the options are applied: the file's request, or its override.
std::string_view requested_device(const Graph& graph, const PlaceOptions& options, NodeId node);

/// Nodes without any kernel in this emplace that TensorFlow's registry could place: where --kernels available
/// and --kernels tensorflow differ.
std::vector<NodeId> nodes_without_available_kernel(const GraphFile& file);

/// May --kernels available and --kernels tensorflow place a node of it on different devices of this set? False, which
/// costs little to find out, where emplace has every kernel that TensorFlow has for its nodes there.
bool kernels_differ(const GraphFile& file, const DeviceSet& devices);

}  // namespace emplace
