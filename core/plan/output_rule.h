/// What becomes of the outputs and the inputs of an instruction: whose bytes are whose, and for how long.
#pragma once

#include "core/graph/graph.h"
#include "core/partition/program.h"

namespace emplace {

/// May its inputs' bytes be looked at when this iteration of a loop has ended?
bool keeps_inputs(const Graph& graph, const Program& program, const Instruction& instruction);

/// What becomes of an instruction's outputs.
enum class OutputRule : uint8_t {
  kOwn,          // written by the kernel into memory that is there
  kSharesInput,  // outputs are the inputs of their numbers under another name or shape
  kProvided,     // the kernel says; perhaps an input's bytes
};
OutputRule output_rule(const Graph& graph, const Program& program, const Instruction& instruction);

}  // namespace emplace
