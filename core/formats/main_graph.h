/// The GraphDef inside a protobuf file.
#pragma once

#include <string>
#include <string_view>

#include "core/formats/proto_source.h"

namespace emplace {

/// Of a GraphDef itself; of a MetaGraphDef its graph; of a SavedModel that of the MetaGraph tagged `serve`, or of the
/// only one. Empty, and a problem told, if there is none.
std::string_view main_graph(const ProtoSource& source, Problems& problems);

}  // namespace emplace
