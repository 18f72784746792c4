/// What stays in the host's own memory as long as a graph may run: the values of its constants, and what is fed.
#pragma once

#include <cstdint>
#include <set>

#include "core/partition/program.h"
#include "core/plan/live_list.h"
#include "core/plan/plan.h"

namespace emplace {

/// In bytes, of all constants, each value once; a device's copy is that device's. Lists them.
int64_t list_constants(const Graph& graph, LiveList& live);

/// In bytes, of what was worked out with the plan from these. Lists it.
int64_t list_once(const Graph& graph, const Program& program, const Plan& plan, LiveList& live);

/// In bytes, of what a program is fed and keeps on its host, but for what `seen` holds (by address), which grows.
int64_t list_feeds(const Graph& graph, const Program& program, const Plan& plan, std::set<const void*>& seen,
                   LiveList& live);

}  // namespace emplace
