#include "core/graph/node_kernel.h"

#include "core/op/kernel_attr.h"

namespace emplace {

DType kernel_type(const NodeType& type) {
  if (!type.signature) return DType::kInvalid;
  const AttrValue* value = type.view().find(kernel_attr(*type.signature, type.def));
  const DType* dtype = value ? value->get_if<DType>() : nullptr;
  return dtype ? *dtype : DType::kInvalid;
}

KernelMaker cpu_kernel(const NodeType& type) { return type.def ? type.def->cpu_kernel(kernel_type(type)) : nullptr; }

}  // namespace emplace
