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
            std::vector(type.output_types.size(), MemoryKind::kHost), true};
  }
  const KernelSignature* kernel = nullptr;
  if (!is_function_call(type)) kernel = find_kernel(*file_.ops, type, device_type);
  if (!kernel) return {kinds_by_dtype(type.input_types), kinds_by_dtype(type.output_types), true};
  Kinds kinds{kinds_by_kernel(type.input_types, type.input_args, type.signature->inputs, *kernel),
              kinds_by_kernel(type.output_types, type.output_args, type.signature->outputs, *kernel), true};
  add_listed(type, "_input_hostmem", kinds.inputs);
  add_listed(type, "_output_hostmem", kinds.outputs);
  return kinds;
}

size_t MemoryKinds::device_type_index(std::string_view device_type) {
  const auto place_of = [&](const auto& is_it) {
    return static_cast<size_t>(std::find_if(device_types_.begin(), device_types_.end(), is_it) - device_types_.begin());
  };
  // Nearly always the very text of an earlier call.
  const size_t same = place_of(
      [&](std::string_view known) { return known.data() == device_type.data() && known.size() == device_type.size(); });
  if (same < device_types_.size()) return same;
  const size_t equal = place_of([&](std::string_view known) { return known == device_type; });
  if (equal == device_types_.size()) {
    device_types_.push_back(device_type);
    found_.emplace_back();
  }
  return equal;
}

const MemoryKinds::Kinds& MemoryKinds::of(NodeId node, std::string_view device_type) {
  std::vector<Kinds>& found = found_[device_type_index(device_type)];
  const uint32_t type = file_.graph.node(node).type;
  if (type >= found.size()) found.resize(size_t{type} + 1);
  if (!found[type].known) found[type] = compute(file_.graph.type(node), device_type);
  return found[type];
}

MemoryKind MemoryKinds::input(NodeId node, size_t i, std::string_view device_type) {
  return of(node, device_type).inputs[i];
}
MemoryKind MemoryKinds::output(NodeId node, size_t i, std::string_view device_type) {
  return of(node, device_type).outputs[i];
}

}  // namespace emplace
