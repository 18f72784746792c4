/// --fetch '*': what the nodes that --nodes, --device and --op choose make, in place of tensors by name.
#pragma once

#include "core/pipeline_values.h"

namespace emplace {

inline constexpr std::string_view kEveryFetch = "*";

/// Do the options ask for it?
bool fetches_by_filter(const RunOptions& options);

/// Puts names in its place: of every tensor that can be fetched, but of placeholders and of control flow, whose outputs
/// need not be there. Places the graph for that, in silence: if it cannot be placed, the stages of the run say why.
/// InvalidArgument: no node matches. Before the stages.
Status name_fetches(StageContext& context);

}  // namespace emplace
