/// For `emplace check`: after load() found problems in a file, loads and validates the rest of it, so that one call of
/// the command tells all that is wrong.
#pragma once

#include "core/graph/graph_file.h"

namespace emplace {

/// Loads and validates what is left of a file when the nodes and keys that load() complained of, and all that reads
/// them, are taken out: adds the problems of the rest, each once, and returns the rest, where everything has the
/// position that it has in the file. Null, and nothing added, for a text that is not JSON. REQUIRES: `problems` are
/// those of load().
std::unique_ptr<GraphFile> check_sound_part(const GraphFile& file, const LoadOptions& options, Problems& problems);

}  // namespace emplace
