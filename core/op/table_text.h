/// The text form of ops and kernels in core/op/tables (described in the README.md there): finding an op's lines in a
/// sorted table, and reading them. The tables are ours, so a line that cannot be read is our bug.
#pragma once

#include <string_view>
#include <vector>

#include "core/op/signature.h"

namespace emplace {

/// The tables that are part of the binary.
struct OpTables {
  std::string_view ops, kernels;
};
OpTables tensorflow_tables();
/// Ops of other programs that write GraphDefs.
OpTables extra_tables();

/// The lines of a sorted table that start with `op` and a space; empty if there are none. Allocates nothing.
std::string_view lines_of(std::string_view table, std::string_view op);

/// One line of ops.txt, without its newline.
OpSignature read_op_line(std::string_view line);
/// One line of kernels.txt, without its newline: adds one kernel for each alternative.
void read_kernel_line(std::string_view line, std::vector<KernelSignature>& kernels);

}  // namespace emplace
