/// The body of a library function as one call sees it.
#pragma once

#include <memory>

#include "core/graph/graph_file.h"

namespace emplace {

/// A copy of the function's body in which attrs that the function leaves open (placeholders) have the values of the
/// call; typed, its shapes unknown. NotFound if the call lacks one of them, InvalidArgument if the body does not fit
/// together.
/// REQUIRES: function.body; validate() ran. The file outlives the result.
Result<std::unique_ptr<Graph>> instantiate_body(const GraphFile& file, const Function& function, const FuncValue& call);

}  // namespace emplace
