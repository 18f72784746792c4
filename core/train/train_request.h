/// TrainRequest: what a training run is asked to do: the `train` key of the graph file, with what the command line
/// overrides. Names are not yet looked up in the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/train/strategies/replication.h"

namespace emplace {

/// A number, a flag (0 or 1) or a list of numbers under its name.
struct NamedNumbers {
  std::string name;
  std::vector<double> values;
  int64_t position = kNoPosition;
};

/// Nothing given: number, tensor and schedule are all empty.
struct LearningRate {
  std::optional<double> number;
  std::string tensor;                   // a scalar tensor of the graph
  std::string schedule;                 // "exponential", "cosine", "piecewise"
  std::vector<NamedNumbers> arguments;  // of the schedule, under TensorFlow's names
  int64_t position = kNoPosition;
};

struct Metric {
  std::string name;  // as reported
  NamedRef tensor;
};

struct TrainRequest {
  NamedRef loss;
  std::string optimizer;  // a name of optimizers(); empty: the graph brings its own update
  int64_t optimizer_position = kNoPosition;
  std::vector<NamedNumbers> arguments;  // of the optimizer, as far as given: all of them are its own
  LearningRate learning_rate;
  std::optional<double> clip_norm;                   // of all gradients together
  std::vector<NamedRef> var_list;                    // empty: every trainable variable that the loss depends on
  std::set<std::string, std::less<>> not_trainable;  // what an empty var_list leaves out, by a model's collections
  bool has_values = false;                           // variables have their values before the initializers run
  std::vector<Metric> metrics;                       // as in the file
  std::vector<NamedRef> target;                      // of the file or of --target: what a step runs beside the loss

  int64_t batch = 0;              // 0: all rows at once
  int64_t epochs = 0, steps = 0;  // whichever ends first; 0: no bound. Both 0: one epoch
  int64_t seed = 1;
  bool shuffle = true;
  bool drop_remainder = false;
  bool colocate_gradients = true;  // with the nodes they belong to

  Replication replication;
};

}  // namespace emplace
