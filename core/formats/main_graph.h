/// Which GraphDef of a protobuf file is the graph to load: a SavedModel or a MetaGraph holds more than one message.
#pragma once

#include <string>
#include <string_view>

#include "core/formats/proto_source.h"

namespace emplace {

/// Of a GraphDef itself; of a MetaGraphDef its graph; of a SavedModel that of the MetaGraph tagged `serve`, or of the
/// only one. Empty, and a problem told, if there is none.
std::string_view main_graph(const ProtoSource& source, Problems& problems);

}  // namespace emplace
