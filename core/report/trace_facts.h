/// TraceFacts: what a trace needs to know of a run beside its slices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/lower/origins.h"
#include "core/place/placement.h"
#include "core/report/bench/cost_table.h"

namespace emplace {

/// All outlive the text's making.
struct TraceFacts {
  const Graph* graph = nullptr;
  const DeviceSet* devices = nullptr;
  const Placement* placement = nullptr;      // for reasons
  const Origins* origins = nullptr;          // null: all nodes are the file's own
  int64_t left_out = 0;                      // slices that there was no room for
  int64_t clock_error_ns = 0;                // of slices of other tasks, at most
  const std::vector<char>* shown = nullptr;  // by node: only slices and copies with one of those; null: all
  const std::vector<char>* fed = nullptr;    // by node, beside placeholders; null: none
  const CostTable* costs = nullptr;          // what was predicted; null: nothing was
};

}  // namespace emplace
