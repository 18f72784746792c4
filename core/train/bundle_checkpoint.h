/// Checkpoints of TensorFlow as the variables of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/run/session.h"
#include "core/train/checkpoint.h"
#include "core/train/variable_readers.h"

namespace emplace {

/// The variables of the bundle that `name` names (PREFIX, PREFIX.index, a folder with a file `checkpoint`), by their
/// keys. `file` may be null; else those of its variables that its own saver restores by another key, or from a part of
/// a tensor, are there by their names, too, and so are its tables'. `wanted` may be null; else only what belongs to
/// that graph is read. Nothing if there is no bundle of that name; an error if it is damaged. The threads of `parallel`
/// look at checksums.
Result<std::optional<Checkpoint>> load_bundle(const std::string& name, const GraphFile* file, const Graph* wanted,
                                              Parallel& parallel);

/// The checkpoint of a SavedModel. Variables of `graph` that a step does not need (`needed`, by node) may be missing in
/// it; a model without variables needs no file. `readers`, by node: what variable_readers() says; its sum is not looked
/// at where they only take rows of a large one.
Status restore_saved_model(const std::string& prefix, const GraphFile& file, const Graph& graph,
                           const std::vector<char>& needed, const std::vector<ReadAs>& readers, Session& session,
                           Parallel& parallel);

}  // namespace emplace
