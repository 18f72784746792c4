/// The attr by which an op's kernels are told apart.
#pragma once

#include <string_view>

#include "core/op/op_def.h"
#include "core/op/signature.h"

namespace emplace {

/// OpDef::kernel_attr if `def` (may be null) says one, else "T", else the first type attr; empty if there is none.
std::string_view kernel_attr(const OpSignature& op, const OpDef* def);

}  // namespace emplace
