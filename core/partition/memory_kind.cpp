#include "core/partition/memory_kind.h"

#include <algorithm>

#include "core/device/device.h"
#include "core/place/device_types.h"
#include "core/place/kernel_lookup.h"

namespace emplace {
namespace {

bool always_on_host(DType t) { return base_type(t) == DType::kString || t == DType::kResource; }

// A call's memory kinds follow from the types of the function's arguments and results, not from the kernel of the call.
bool is_function_call(const NodeType& type) { return !type.signature || type.traits->body_decides_memory; }

std::vector<MemoryKind> kinds_by_dtype(std::span<const DType> types) {
  std::vector<MemoryKind> kinds;
  for (DType t : types) {
    kinds.push_back(t == DType::kInt32 || always_on_host(t) ? MemoryKind::kHost : MemoryKind::kDevice);
  }
  return kinds;
}

std::vector<MemoryKind> kinds_by_kernel(std::span<const DType> types, std::span<const uint16_t> args,
                                        const std::vector<ArgSignature>& signature, const KernelSignature& kernel) {
  const auto& host = kernel.host_memory_args;
  std::vector<MemoryKind> kinds;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool declared = std::find(host.begin(), host.end(), signature[args[i]].name) != host.end();
    kinds.push_back(declared || always_on_host(types[i]) ? MemoryKind::kHost : MemoryKind::kDevice);
  }
  return kinds;
}

void add_listed(const NodeType& type, std::string_view attr, std::vector<MemoryKind>& kinds) {
  const AttrValue* value = type.view().find(attr);
  const auto* list = value ? value->get_if<std::vector<int64_t>>() : nullptr;
  if (!list) return;
  for (int64_t i : *list) {
    if (i >= 0 && i < static_cast<int64_t>(kinds.size())) kinds[static_cast<size_t>(i)] = MemoryKind::kHost;
  }
}

}  // namespace

MemoryKinds::MemoryKinds(const GraphFile& file) : file_(file) {}

MemoryKinds::Kinds MemoryKinds::compute(const NodeType& type, std::string_view device_type) {
  if (device_type == "CPU") {
    return {std::vector(type.input_types.size(), MemoryKind::kHost),
            std::vector(type.output_types.size(), MemoryKind::kHost)};
  }
  const KernelSignature* kernel = nullptr;
  if (!is_function_call(type)) kernel = find_kernel(*file_.ops, type, device_type);
  if (!kernel) return {kinds_by_dtype(type.input_types), kinds_by_dtype(type.output_types)};
  Kinds kinds{kinds_by_kernel(type.input_types, type.input_args, type.signature->inputs, *kernel),
              kinds_by_kernel(type.output_types, type.output_args, type.signature->outputs, *kernel)};
  add_listed(type, "_input_hostmem", kinds.inputs);
  add_listed(type, "_output_hostmem", kinds.outputs);
  return kinds;
}

const MemoryKinds::Kinds& MemoryKinds::of(NodeId node, std::string_view device_type) {
  const auto known = std::find(device_types_.begin(), device_types_.end(), device_type);
  const auto index = static_cast<size_t>(known - device_types_.begin());
  if (known == device_types_.end()) {
    device_types_.push_back(device_type);
    found_.emplace_back();
  }
  auto [it, is_new] = found_[index].try_emplace(file_.graph.node(node).type);
  if (is_new) it->second = compute(file_.graph.type(node), device_type);
  return it->second;
}

MemoryKind MemoryKinds::input(NodeId node, size_t i, std::string_view device_type) {
  return of(node, device_type).inputs[i];
}
MemoryKind MemoryKinds::output(NodeId node, size_t i, std::string_view device_type) {
  return of(node, device_type).outputs[i];
}

}  // namespace emplace
