/// How the steps of a run read each variable: what has to be done before its value is one of a file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

enum class ReadAs : uint8_t {
  kRows,     // some rows, from wherever they lie; or not at all
  kLoose,    // all of it, from any address, if it is large (core/op/loose_inputs.h)
  kAligned,  // where kernels expect elements
};

/// By node; of nodes that are no variables it says kRows. `needed`, by node: those that the steps run; `fetches`: what
/// they fetch. REQUIRES: validated; what is not called any more, functions, is inlined or reads as kAligned.
std::vector<ReadAs> variable_readers(const Graph& graph, const std::vector<char>& needed,
                                     std::span<const Endpoint> fetches);

}  // namespace emplace
