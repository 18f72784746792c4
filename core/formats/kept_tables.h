/// Tables without a name in a SavedModel: TensorFlow's loader makes them once, by functions of the model, where a
/// session would make new ones in each step. So their nodes in the main graph stand for tables that are kept.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

/// "HashTableV2" of "AnonymousHashTable"; of an op that makes no table without a name, the op itself.
std::string_view op_of_kept_table(std::string_view op);

/// A GraphDef with such nodes in the place of those without a name.
Result<std::string> with_kept_tables(std::string_view graph);

}  // namespace emplace
