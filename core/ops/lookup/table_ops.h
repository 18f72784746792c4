/// What the ops on tables share: the table behind input 0, and the types that it has.
#pragma once

#include "core/op/shape_context.h"
#include "core/ops/lookup/table.h"

namespace emplace {

/// The table behind input 0. The op's other inputs must have the types `wanted`, its outputs `given`.
enum class TableTypes { kNone, kKeys, kKeysAndValues };
Result<Table*> table_behind(KernelContext& c, TableTypes inputs, bool gives_values = false);

/// Input 0 is a handle: a scalar, or, of the first version, two names.
Status handle_input(const ShapeContext& c);

}  // namespace emplace
