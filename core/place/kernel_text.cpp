#include "core/place/kernel_text.h"

#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/graph/node_kernel.h"
#include "core/op/gpu_gaps.h"
#include "core/place/kernel_lookup.h"

namespace emplace {
namespace {

// The attrs with types that some kernel of the op constrains.
std::vector<std::string_view> type_attrs(const std::vector<KernelSignature>& kernels) {
  std::vector<std::string_view> attrs;
  for (const KernelSignature& k : kernels) {
    for (const KernelConstraint& c : k.constraints) {
      const bool types = c.allowed_values.get_if<std::vector<DType>>() != nullptr;
      if (types && std::find(attrs.begin(), attrs.end(), c.attr) == attrs.end()) attrs.push_back(c.attr);
    }
  }
  return attrs;
}

bool serves(const KernelSignature& kernel, std::string_view device_type) {
  return kernel.device_type == device_type || kernel.device_type == "DEFAULT";
}

// What kernels for a type of device allow for `attr`: every type once, in TensorFlow's order of types.
std::string allowed_types(const std::vector<KernelSignature>& kernels, std::string_view device_type,
                          std::string_view attr) {
  std::vector<DType> types;
  for (const KernelSignature& k : kernels) {
    if (!serves(k, device_type)) continue;
    for (const KernelConstraint& c : k.constraints) {
      const auto* list = c.attr == attr ? c.allowed_values.get_if<std::vector<DType>>() : nullptr;
      if (list) types.insert(types.end(), list->begin(), list->end());
    }
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  std::string out;
  for (DType t : types) append(out, ' ', dtype_name(t));
  return out;
}

}  // namespace

std::string op_with_types(OpTable& ops, const NodeType& type) {
  std::string types;
  const auto add = [&](DType t) { append(types, types.empty() ? "" : ", ", dtype_name(t)); };
  for (std::string_view attr : type_attrs(ops.kernels(type.op))) {
    const AttrValue* value = type.view().find(attr);
    if (!value) continue;
    if (const DType* one = value->get_if<DType>()) {
      add(*one);
    } else if (const auto* list = value->get_if<std::vector<DType>>()) {
      for (DType t : *list) add(t);
    }
  }
  return types.empty() ? std::string(type.op) : cat(type.op, '(', types, ')');
}

std::string missing_kernel_text(OpTable& ops, const NodeType& type, std::string_view device_type) {
  const GpuGap* gap = device_type == "GPU" ? find_gpu_gap(type.op, kernel_type(type)) : nullptr;
  if (gap && find_kernel(ops, type, device_type))
    return cat(op_with_types(ops, type), " has no GPU kernel here: ", gap->reason);
  const std::vector<KernelSignature>& kernels = ops.kernels(type.op);
  std::string out = cat(op_with_types(ops, type), " has no ", device_type, " kernel");
  for (std::string_view attr : type_attrs(kernels)) {
    const std::string types = allowed_types(kernels, device_type, attr);
    if (!types.empty())
      append(out, "; ", device_type, " kernels", attr == "T" || attr == "dtype" ? "" : cat(" by ", attr), ":", types);
  }
  return out;
}

std::string types_text(const TypeLists& lists, TypesId types) {
  std::string out;
  for (const SupportedType& s : lists.at(types)) append(out, out.empty() ? "" : " and ", lists.types()[s.type]);
  return out.empty() ? "no device" : out;
}

}  // namespace emplace
