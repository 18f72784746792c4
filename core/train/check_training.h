/// What `emplace check` says about the keys `train` and `data`.
#pragma once

#include <string>

#include "core/graph/graph_file.h"

namespace emplace {

/// Adds every problem of the two keys: unknown keys and arguments, wrong types, names that are not tensors, a loss
/// without gradients, files that are missing or whose samples do not fit. What the command line may still add (a loss,
/// an optimizer) is none. `valid`: validate() found nothing; else only the keys themselves are looked at. Returns whole
/// messages about the data files, with file, line and column.
std::string check_training(const GraphFile& file, const LoadOptions& options, bool valid, Problems& problems);

}  // namespace emplace
