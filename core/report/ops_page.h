/// `emplace ops`: the ops that emplace runs, and the page of one op (also of those that it can only place).
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/op/op_table.h"

namespace emplace {

/// Every op that emplace runs: one a line, with its dtypes on the CPU (and simulated GPUs) and those for which
/// TensorFlow's registry has a GPU kernel. `line_width`: of the terminal; 0: there is none.
std::string ops_table_text(size_t line_width);
/// A list of objects "name", "doc", "cpu", "gpu".
std::string ops_table_json();

/// Arguments, attrs, kernels, and whether emplace runs it. NotFound with a "did you mean" for an unknown op.
Result<std::string> ops_page_text(std::string_view op);
Result<std::string> ops_page_json(std::string_view op);

/// NotFound with a "did you mean". Not null.
Result<const OpSignature*> find_named_op(OpTable& table, std::string_view name);

}  // namespace emplace
