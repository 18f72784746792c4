/// The parts of settle() (core/plan/plan.h): shapes first, then where values live.
#pragma once

#include "core/plan/plan.h"

namespace emplace {

/// Fills shape, known and storage (kSlot or kFixed), and the modes as far as shapes decide them.
Status settle_shapes(const GraphFile& file, const DeviceSet& devices, const Program& program,
                     const std::vector<Tensor>& feeds, Plan& plan);

/// kBlock for what is settled, and the modes that follow from it.
void choose_storage(const GraphFile& file, const Program& program, Plan& plan);

/// What becomes of an instruction's outputs.
enum class OutputRule : uint8_t {
  kOwn,          // written by the kernel into memory that is there
  kSharesInput,  // output 0 is input 0 under another name or shape
  kProvided,     // the kernel says; perhaps an input's bytes
};
OutputRule output_rule(const Graph& graph, const Program& program, const Instruction& instruction);

}  // namespace emplace
