/// Chooses among the kernels that emplace has for a node's op, by the node's types.
#pragma once

#include "core/graph/graph.h"

namespace emplace {

/// The type that chooses the kernel (OpDef::kernel_attr): kInvalid for an op without a type attr.
DType kernel_type(const NodeType& type);

/// Null if emplace cannot run the op for these types.
KernelMaker cpu_kernel(const NodeType& type);

}  // namespace emplace
