/// Leaving out requests to be with nodes that a GraphDef does not have, once a part of a graph stands for itself.
#pragma once

#include <string>
#include <string_view>

#include "core/formats/proto/wire_reader.h"

namespace emplace {

/// `_class` names a node ("loc:@NODE") that a cut, constants in the place of variables or an inlined body may leave
/// behind; TensorFlow's importer refuses a graph that names one. Other groups stay.
std::string without_lost_colocation(std::string_view graph, proto::WireError& error);

}  // namespace emplace
