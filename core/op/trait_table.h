/// The traits of every op, by name.
#pragma once

#include <string_view>
#include <vector>

#include "core/op/op_traits.h"

namespace emplace {

/// No traits if no table knows the op. Costs a search by name; a typed node has them (NodeType::traits).
/// Thread-safe; the reference stays valid.
const OpTraits& traits_of(std::string_view op);
/// The ops whose traits no definition has: emplace does not run them.
std::vector<std::string_view> listed_traits();

}  // namespace emplace
