/// Reading what training is asked to do: the `train` and `data` keys of the graph file, then what the command line
/// overrides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/train/data_request.h"
#include "core/train/train_request.h"

namespace emplace {

/// As on the command line. Absent or empty: the file's.
struct TrainFlags {
  std::string loss, optimizer;
  std::string learning_rate;  // a number, or a tensor of the graph
  std::vector<std::string> target;
  std::vector<std::string> metric;  // NAME=TENSOR
  std::vector<std::string> data;    // train=FILE, test=FILE
  std::optional<int64_t> batch, epochs, steps, seed;
  std::optional<double> clip_norm;
  std::optional<bool> shuffle, drop_remainder;
};

/// Adds a problem for everything in `train` and `data` that is not as it should be: unknown keys, wrong types, files
/// that are not there or lie outside the allowed folders.
void read_train_keys(const GraphFile& file, const LoadOptions& options, TrainRequest& train, DataRequest& data,
                     Problems& problems);

/// The command line over the file. An error is a flag's.
Status apply_train_flags(const TrainFlags& flags, TrainRequest& train, DataRequest& data);

/// What is still missing or does not go together: the loss, an optimizer's arguments without a default.
/// REQUIRES: the above found nothing.
void check_train_request(const GraphFile& file, const TrainRequest& train, Problems& problems);

}  // namespace emplace
