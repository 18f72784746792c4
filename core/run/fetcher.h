/// Fetcher: hands a step's results out, in host memory.
#pragma once

#include <utility>
#include <vector>

#include "core/run/prepared_program.h"
#include "core/run/slot_operands.h"

namespace emplace {

class Fetcher {
 public:
  /// Both must outlive it.
  Fetcher(PreparedProgram& p, const SlotOperands& operands) : p_(p), operands_(operands) {}

  /// The program's fetches. A tensor of `outputs` is written over where it fits and nobody else holds it.
  /// InvalidArgument: one is dead.
  Status fetch(std::vector<Tensor>& outputs);

 private:
  Status start(size_t i, Tensor& out);

  PreparedProgram& p_;
  const SlotOperands& operands_;
  std::vector<std::pair<Gpu*, uint64_t>> under_way_;  // copies out of GPUs, not waited for yet
};

}  // namespace emplace
