/// Towers: the graph between placeholders and loss once per replica, each on its device and under its scope, each with
/// its part of the batch.
#pragma once

#include <string>
#include <vector>

#include "core/train/strategies/replication.h"
#include "core/train/variable_nodes.h"

namespace emplace {

/// The one output of a new node.
Endpoint add_op(GraphEditor& edit, std::string name, std::string op, std::vector<Endpoint> inputs,
                const std::string& device);

struct Tower {
  std::string scope;              // "tower_0"
  std::string device;             // "/device:GPU:0"
  Endpoint loss;                  // over its own rows
  std::vector<Endpoint> metrics;  // likewise
  /// How much its loss and then its metrics count in those of all towers, float32: its rows, or all rows where they are
  /// sums over samples. Empty: the batch is not split.
  std::vector<Endpoint> weights;
  std::vector<TrainVariable> variables;  // that it reads: the trained ones, or its copies of them
};

/// The batch cut into a part for each replica: the first ones get one row more if it does not come out even.
struct BatchParts {
  Endpoint total;               // rows, float32
  std::vector<Endpoint> rows;   // by replica, float32
  std::vector<Endpoint> whole;  // by replica, float32: all rows, or none if it has none itself
  std::vector<std::pair<Endpoint, std::vector<Endpoint>>> placeholders;  // with a part by replica
};

/// The weights of replica `i` for `tensors`, the loss first. InvalidArgument: the loss is a sum over samples and
/// something else.
Result<std::vector<Endpoint>> tower_weights(const Graph& graph, const BatchParts& parts, size_t i,
                                            const std::vector<Endpoint>& tensors);

/// Cuts every placeholder that `tensors` depend on and whose first dimension is open. On the CPU, where batches arrive.
/// InvalidArgument if there is none.
Result<BatchParts> split_batch(GraphEditor& edit, const std::vector<Endpoint>& tensors, size_t replicas);

/// What a tower reads instead of a tensor of the graph.
using Replacements = std::vector<std::pair<Endpoint, Endpoint>>;

/// Copies everything that `tensors` depend on but placeholders, variables and what reads variables; of the latter also
/// those that read a variable which `instead` replaces. Returns the copies of `tensors`.
std::vector<Endpoint> add_tower(GraphEditor& edit, const std::vector<Endpoint>& tensors, const std::string& scope,
                                const std::string& device, const Replacements& instead);

/// Requests `device` for a variable, its first value, assignment and read.
void move_variable(GraphEditor& edit, const TrainVariable& variable, const std::string& device);

/// What a tower's gradients are of: its loss times its weight, so that their sum over the towers is that of all
/// samples. Its loss itself if the batch is not split.
Endpoint objective(GraphEditor& edit, const Tower& tower);

/// Of a value that each tower has of its own samples, that of all: `which` of their weights, loss first.
Endpoint add_mean_over_towers(GraphEditor& edit, const std::vector<Tower>& towers, const std::vector<Endpoint>& values,
                              size_t which, Endpoint total, const std::string& device);

/// sum(parts) / total on every part's own device, by NcclAllReduce.
std::vector<Endpoint> add_all_reduced_means(GraphEditor& edit, const std::vector<Tower>& towers,
                                            const std::vector<Endpoint>& parts, Endpoint total, int64_t number);

/// sum(parts) / total, on one device; `scope` ends in "/" or is empty.
Endpoint add_mean(GraphEditor& edit, const std::vector<Endpoint>& parts, Endpoint total, const std::string& scope,
                  const std::string& device);

}  // namespace emplace
