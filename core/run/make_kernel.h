/// make_kernel(): the kernel of an instruction, from the op's definition, from the CUDA plug-in, or a copy's.
#pragma once

#include "core/run/prepared_program.h"

namespace emplace {

/// Into the instruction's place of `p.bound`. Errors carry the node's name. REQUIRES: no loop's instruction.
Status make_kernel(PreparedProgram& p, InstructionId id);

/// Has an instruction on a GPU an input or output in that GPU's memory, or does it change a variable, which is there
/// while its handle is in the host's? One that has neither (shapes, handles alone) is the CPU's kernel's, as in
/// TensorFlow.
bool uses_device_memory(const PreparedProgram& p, InstructionId id);

}  // namespace emplace
