/// How many operations a node takes, from shapes alone. Beside the bytes that it reads and writes, that tells whether
/// the processor or the memory bounds it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"
#include "core/report/bench/seen_shapes.h"

namespace emplace {

/// What the graph knows of it, or, where that leaves something open, what a run met. `seen` may be null.
const Shape& best_known_shape(const Graph& graph, Endpoint output, const SeenShapes* seen);

/// Multiplications and additions, where shapes are known: exact for products of matrices, sums of products (Einsum),
/// convolutions and their gradients, one for each element of the result of everything else.
std::optional<int64_t> flops_of(const Graph& graph, NodeId node, const SeenShapes* seen = nullptr);

}  // namespace emplace
