/// Which variables of a model an optimizer changes by default: those that TensorFlow's trainable_variables() has.
#pragma once

#include <set>
#include <string>

#include "core/formats/meta_graph.h"
#include "core/graph/graph_file.h"

namespace emplace {

using VariableNames = std::set<std::string, std::less<>>;

/// The variables of the graph, by their nodes' names, that are not to be trained: by the collections of TensorFlow 1,
/// by the objects of TensorFlow 2, by `trainable` of a variable in short form. Of a graph alone all others may be.
/// `meta`: null if the file holds a graph alone.
VariableNames not_trainable(const MetaGraph* meta, const GraphFile& file);

}  // namespace emplace
