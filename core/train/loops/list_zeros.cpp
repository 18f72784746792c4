#include "core/train/loops/list_zeros.h"

#include <algorithm>

namespace emplace {
namespace {

// Follows the list back to the op that made it, which has the attr element_dtype; ops between only pass it on.
DType element_type(const Graph& g, Endpoint list) {
  for (NodeId steps = 0; steps < g.num_nodes(); ++steps) {
    const AttrValue* type = g.attrs(list.node).find("element_dtype");
    if (type && type->get_if<DType>()) return type->get<DType>();
    const auto inputs = g.inputs(list.node);
    const auto is_list = [&](const Endpoint& e) { return g.output_type(e) == DType::kVariant; };
    if (list.slot < inputs.size() && is_list(inputs[list.slot])) {
      list = inputs[list.slot];
    } else {
      const auto found = std::find_if(inputs.begin(), inputs.end(), is_list);
      if (found == inputs.end()) break;
      list = *found;
    }
  }
  return DType::kInvalid;
}

}  // namespace

Value zeros_of_list(NodeGradient& node, Value list) {
  const DType type = element_type(node.graph(), {list.node, list.slot});
  if (type == DType::kInvalid || type == DType::kVariant) return node.add("ZerosLike", {list}, {}, "zeros_like");
  const Value shape = node.add("TensorListElementShape", {list}, {{"shape_type", AttrValue::of(DType::kInt32)}}, {});
  const Value length = node.add("TensorListLength", {list}, {}, {});
  return node.add("TensorListReserve", {shape, length}, {{"element_dtype", AttrValue::of(type)}}, {});
}

}  // namespace emplace
