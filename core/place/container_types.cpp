#include "core/place/container_types.h"

#include <algorithm>

namespace emplace {
namespace {

// The element type of a list op; kInvalid if it has none.
DType element_type(const NodeType& type) {
  const AttrValue* value = type.view().find(type.traits->element_attr);
  const DType* dtype = value ? value->get_if<DType>() : nullptr;
  return dtype ? *dtype : DType::kInvalid;
}

bool holds_strings(const NodeType& type) {
  const AttrValue* value = type.view().find(type.traits->element_attr);
  if (!value) return false;
  if (const DType* one = value->get_if<DType>()) return *one == DType::kString;
  const auto* list = value->get_if<std::vector<DType>>();
  return list && std::find(list->begin(), list->end(), DType::kString) != list->end();
}

bool has_variant_output(const NodeType& type) {
  return std::find(type.output_types.begin(), type.output_types.end(), DType::kVariant) != type.output_types.end();
}

}  // namespace

bool is_dataset_op(const NodeType& type) {
  return type.traits->dataset && type.output_types.size() == 1 && type.output_types[0] == DType::kVariant;
}

bool declares_host_output(const NodeType& type) {
  if (is_dataset_op(type) || type.traits->declares_host_output) return true;
  if (type.traits->tensor_list) return has_variant_output(type) && element_type(type) == DType::kString;
  return !type.traits->element_attr.empty() && holds_strings(type);
}

ListMemory tensor_list_memory(const NodeType& type) {
  if (!type.traits->tensor_list) return ListMemory::kUndecided;
  const DType element = element_type(type);
  if (element == DType::kInvalid || element == DType::kVariant) return ListMemory::kUndecided;
  return element == DType::kString || element == DType::kResource ? ListMemory::kHost : ListMemory::kDevice;
}

}  // namespace emplace
