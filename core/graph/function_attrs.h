/// What a function of the library says of itself, beside signature and body: its attrs (`_noinline`), and the nodes
/// that run whenever it is called.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

using OwnAttrs = std::vector<std::pair<std::string, AttrValue>>;

/// The name under which control_ret, a list of the body's nodes, is among a function's own attrs.
inline constexpr char kControlResults[] = "control_ret";

/// Kept with the body, as a set of attrs that no node has. Once per body.
void keep_own_attrs(Graph& body, OwnAttrs attrs);
/// REQUIRES: the body is that of the library, not a copy that was made for a call.
Attrs own_attrs(const Graph& body);

}  // namespace emplace
