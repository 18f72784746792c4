/// Where the costs that this machine measured are kept, for --auto.
#pragma once

#include <string>

namespace emplace {

/// "$EMPLACE_CACHE_DIR/costs/<machine>.json", of ~/.cache/emplace without that variable; empty: there is no such
/// folder.
std::string costs_of_this_machine();

}  // namespace emplace
