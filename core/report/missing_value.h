/// What to do about a step that read a variable which nobody has given a value.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/graph/source.h"

namespace emplace {

/// "g.json:3:12: variable 'w' has no value", its line, a caret and how to give it one, without a newline at the end.
/// Empty: `failure` is another one, or no node of `graph` that `source` has is that variable.
std::string missing_value_text(const Graph& graph, const Source& source, const Status& failure);

}  // namespace emplace
