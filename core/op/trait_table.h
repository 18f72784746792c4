/// The traits of every op, by name.
#pragma once

#include <string_view>

#include "core/op/op_traits.h"

namespace emplace {

/// No traits if no table knows the op. Costs a search by name; a typed node has them (NodeType::traits).
/// Thread-safe; the reference stays valid.
const OpTraits& traits_of(std::string_view op);

}  // namespace emplace
