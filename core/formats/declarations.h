/// What a graph file declares about ops: `op_def` (OpDef), `kernel_def` (KernelDef).
#pragma once

#include <optional>

#include "core/formats/load_context.h"

namespace emplace {

/// Takes the next value, an OpDef message (op_def.proto).
std::optional<OpSignature> read_op_def(LoadContext& c);
/// Takes the next value, a list of OpDefs, and declares them in the file's op table.
void read_op_defs(LoadContext& c);
/// Takes the next value, a list of KernelDefs (kernel_def.proto), likewise.
void read_kernel_defs(LoadContext& c);

}  // namespace emplace
