/// Leaving out the functions that no node of a GraphDef calls any more.
#pragma once

#include <string>
#include <string_view>

#include "core/formats/proto/wire_reader.h"

namespace emplace {

/// Kept are functions that a node names, by its op or in an attr, and what those name, with their gradients.
std::string without_unused_functions(std::string_view graph, proto::WireError& error);

}  // namespace emplace
