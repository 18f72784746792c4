/// What TensorFlow does to a graph before it places it (isolate_placer_inspection_required_ops_pass.cc): calls of
/// functions that return resources are placed by looking into the function, so they get an Identity on every edge.
#pragma once

#include "core/graph/graph_file.h"

namespace emplace {

/// (Stateful)PartitionedCall with a result of type DT_RESOURCE.
bool is_inspected_call(const NodeType& type);

/// Puts an Identity before every data input of such a call, between each of its outputs and each reader, and behind
/// outputs that nobody reads. The new nodes have the last ids, those of one call side by side: so a reader may have a
/// smaller id than the Identity that it reads. Named as TensorFlow names them: `<source>_<call>`, `<call>_<reader>`,
/// and with `_0`, `_1`, ... behind it where that name is taken.
/// REQUIRES: the graph is typed. `ops` knows Identity.
void isolate_calls(OpTable& ops, Graph& graph);

}  // namespace emplace
