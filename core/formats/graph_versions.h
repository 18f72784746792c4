/// Checks a graph's VersionDef: is it too new or too old for TensorFlow's rules as emplace has them?
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace emplace {

/// tf.version.GRAPH_DEF_VERSION of TensorFlow 2.21, as which emplace reads.
inline constexpr int kGraphDefVersion = 2474;

/// What to say of a graph with these demands; empty: it may be read.
std::string min_consumer_problem(int min_consumer);
std::string bad_consumer_problem(int bad_consumer);

/// In graphs of before version 22 (a GraphDef that says nothing is one) a Placeholder's "shape {}" means any shape: its
/// attr becomes the unknown shape.
void open_placeholders(int producer, Graph& graph);

}  // namespace emplace
