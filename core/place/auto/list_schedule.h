/// List schedules as starts of a search: HEFT (Topcuoglu 2002) and PEFT (Arabnejad 2014), the first node of a group
/// deciding for all of it, devices that are full left out.
#pragma once

#include "core/place/auto/budget.h"
#include "core/place/auto/problem.h"

namespace emplace::autoplace {

enum class ListRule : uint8_t { kHeft, kPeft };

/// May break memory limits where nothing fits. What it had no time for is where the CPU can do it.
Assignment list_schedule(const Problem& problem, ListRule rule, Budget& budget);

}  // namespace emplace::autoplace
