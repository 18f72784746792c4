/// evaluate(): one op, once, on the host, outside of any graph's run. For constants that are wanted before a run.
#pragma once

#include <span>
#include <vector>

#include "core/op/op_def.h"

namespace emplace {

struct Evaluation {
  std::string_view node_name;
  Attrs attrs;
  std::span<const DType> input_types, output_types;
  std::span<const Tensor> inputs;
  int64_t max_elements = 0;  // of one output; more is ResourceExhausted
};

/// The outputs. REQUIRES: `maker` is a CPU kernel of `def` for these types; the op has no state.
Result<std::vector<Tensor>> evaluate(const OpDef& def, KernelMaker maker, const Evaluation& what);

}  // namespace emplace
