/// Which GraphDef of a protobuf file is the graph to load: a SavedModel or a MetaGraph holds more than one message.
#pragma once

#include <string>
#include <string_view>

#include "core/formats/proto_source.h"

namespace emplace {

/// Of a GraphDef itself; of a MetaGraphDef its graph; of a SavedModel that of main_meta_graph(). Empty, and a problem
/// told, if there is none.
std::string_view main_graph(const ProtoSource& source, Problems& problems);

/// The MetaGraphDef around that graph: of a SavedModel the one whose tags are source.tags(), else the one tagged
/// `serve`, else the only one. Empty if there is none, with a problem told of a SavedModel.
std::string_view main_meta_graph(const ProtoSource& source, Problems& problems);

}  // namespace emplace
