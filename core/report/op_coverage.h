/// For which dtypes and devices emplace runs an op: its own kernels beside TensorFlow's registry.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/op/op_def.h"
#include "core/op/op_table.h"

namespace emplace {

struct Coverage {
  std::string_view attr;  // that chooses the kernel; empty: there is none, and the sets have no meaning
  DTypeSet cpu;           // with a kernel of ours; none where TensorFlow has kernels for GPUs alone
  DTypeSet gpu;  // with a kernel of ours, and with a GPU or DEFAULT kernel in TensorFlow's registry: a simulated GPU
                 // runs them
  bool on_gpu = false;  // the registry has a kernel for GPUs at all
};

Coverage coverage(OpTable& table, const OpSignature& op, const OpDef& def);

/// Of the kernels for a type of device, the types that they cover: what the op allows and some kernel takes.
/// Kernels with a label, which no node gets unasked, do not count.
DTypeSet covered_types(const OpSignature& op, std::string_view attr, const std::vector<KernelSignature>& kernels,
                       bool on_cpu);

/// In the order in which people count: floats, integers, the rest.
std::vector<DType> in_order(DTypeSet set);

}  // namespace emplace
