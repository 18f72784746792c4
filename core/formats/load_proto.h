/// Loads a graph of a protobuf message: GraphDef, or that of a MetaGraphDef or SavedModel.
#pragma once

#include <memory>

#include "core/formats/proto_source.h"
#include "core/graph/graph_file.h"

namespace emplace {

/// As load(). REQUIRES: `source` is a ProtoSource.
std::unique_ptr<GraphFile> load_proto(std::shared_ptr<const ProtoSource> source, const LoadOptions& options,
                                      Problems& problems);

}  // namespace emplace
