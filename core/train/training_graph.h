/// From a request to the graph that trains: names looked up, and, with an optimizer, gradients and updates added.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/train/train_request.h"

namespace emplace {

/// What the loop runs.
struct TrainGraph {
  Endpoint loss;  // the mean over the (global) batch
  std::vector<std::pair<std::string, Endpoint>> metrics;
  std::vector<Endpoint> batch_metrics;  // the same of a step's batch; others than `metrics` where towers share a batch
  std::vector<NodeId> targets;          // the update
  std::vector<NodeId> init;             // what runs before the first step beside the file's own initializers
  /// ps-async: the step of each tower, a loop of its own; then `loss` is that of the first. Else empty.
  struct TowerStep {
    Endpoint loss;
    std::vector<Endpoint> metrics;
    NodeId update = kNoNode;
  };
  std::vector<TowerStep> towers;
  /// Copies of a variable that replicas keep, and the variable itself, which checkpoints hold.
  std::vector<std::pair<NodeId, NodeId>> copies;
};

/// Looks up the names of a request; adds a problem for each that does not fit. All that a graph with its own update
/// needs. REQUIRES: a validated file.
void find_training(const GraphFile& file, const TrainRequest& request, TrainGraph& out, Problems& problems);

/// find_training(), and if the request names an optimizer: adds gradients, updates and what its strategy needs to the
/// graph. Afterwards the file describes the graph that trains (`init`, `target`, `fetch`, `train`), so that
/// write_graph() gives a file that trains the same without an optimizer. Ids of nodes change. REQUIRES: a validated
/// file; a replication that resolve_replication() has seen.
void add_training(GraphFile& file, const TrainRequest& request, TrainGraph& out, Problems& problems);

}  // namespace emplace
