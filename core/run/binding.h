/// Where a prepared program's operands lie: what each kernel's context shows, and the addresses behind it.
#pragma once

#include <cstddef>
#include <vector>

#include "core/run/prepared_program.h"

namespace emplace {

/// The instruction's context: its part of the operands, allocators, threads. Tensors of planned memory have no address
/// yet. REQUIRES: the kernel is made.
void bind_context(PreparedProgram& p, InstructionId id);

/// The planned tensors get their addresses: `blocks`, by DeviceId. Internal: one is in another memory than its home.
/// After the memory plan.
Status bind_memory(PreparedProgram& p, const std::vector<std::byte*>& blocks);

}  // namespace emplace
