/// The smallest set of nodes and links that cannot hold together, and the links of a group as text.
#pragma once

#include <string>
#include <vector>

#include "core/place/placer_state.h"

namespace emplace {

/// Why no device fits the group of `node`, joined with that of `link.b` or `link.a` by `link` (kind kNone: alone):
/// the fewest nodes whose requests and kernels exclude each other, then the links between them, one a line, indented;
/// then what would still be in the way if those nodes asked for nothing.
/// Empty if every device is excluded by something else.
std::string conflict_text(const PlacerState& state, NodeId node, const Link& link);

/// "asks for /gpu:0", "has kernels for CPU only", both, or nothing.
std::string demands_text(const PlacerState& state, NodeId node);
/// "the function that 'c' calls asks for /gpu:0".
std::string demands_text(const PlacerState& state, const BodyDemand& demand);

/// The links that lead from `from` to `to` within one group. REQUIRES: both are in one group.
std::vector<Link> link_path(const Groups& groups, NodeId from, NodeId to);

/// "a reference edge ties 'assign' to 'v'", "'b' asks to be colocated with 'a'".
std::string link_text(const Graph& graph, const Link& link);

}  // namespace emplace
