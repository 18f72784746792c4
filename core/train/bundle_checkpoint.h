/// Checkpoints of TensorFlow as the variables of a run.
#pragma once

#include <optional>
#include <string>

#include "core/train/checkpoint.h"

namespace emplace {

/// The variables of the bundle that `name` names (PREFIX, PREFIX.index, a folder with a file `checkpoint`), by their
/// keys. `graph` may be null; else those of its variables that its own saver restores by another key, or from a part of
/// a tensor, are there by their names, too. Nothing if there is no bundle of that name; an error if it is damaged.
Result<std::optional<Checkpoint>> load_bundle(const std::string& name, const Graph* graph);

}  // namespace emplace
