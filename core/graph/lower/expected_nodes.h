/// How large a graph will be once its functions are lowered: a guess, so that nothing grows by copying.
#pragma once

#include <cstddef>

#include "core/graph/graph_file.h"

namespace emplace {

/// With each call counted as the nodes of its function, and what that one calls. Never more than half a million.
size_t expected_nodes(const GraphFile& file);

}  // namespace emplace
