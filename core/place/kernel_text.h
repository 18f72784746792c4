/// Which kernels a node has and lacks, in a sentence.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/op/op_table.h"
#include "core/place/device_types.h"

namespace emplace {

/// "MatMul(int32)": the op with the types that choose its kernel.
std::string op_with_types(OpTable& ops, const NodeType& type);

/// "MatMul(int32) has no GPU kernel; GPU kernels: float32 float64 float16"; without the list where the op has no
/// kernel at all for that type of device.
std::string missing_kernel_text(OpTable& ops, const NodeType& type, std::string_view device_type);

/// "CPU", "GPU and CPU", "no device": where a list of types says that kernels are.
std::string types_text(const TypeLists& lists, TypesId types);

}  // namespace emplace
