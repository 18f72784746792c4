#include "core/train/arrived_gradients.h"

#include <algorithm>

namespace emplace {
namespace {

bool is_slices(const PartialGradient& gradient) { return gradient.is_slices(); }

PartialGradient concatenated(NodeGradient& node, const std::vector<PartialGradient>& slices) {
  const DType type = node.type(slices.front().indices);
  const bool one_type =
      std::all_of(slices.begin(), slices.end(), [&](const PartialGradient& g) { return node.type(g.indices) == type; });
  std::vector<Value> values, indices;
  for (const PartialGradient& g : slices) {
    values.push_back(g.values);
    indices.push_back(one_type ? g.indices : node.cast(g.indices, DType::kInt64));
  }
  const Value all = node.concat(values);
  return {all, node.concat(indices), slices.front().dense_shape};
}

PartialGradient added_up(NodeGradient& node, const std::vector<PartialGradient>& parts) {
  if (std::all_of(parts.begin(), parts.end(), is_slices)) return concatenated(node, parts);
  std::vector<Value> dense;
  dense.reserve(parts.size());
  for (const PartialGradient& g : parts) dense.push_back(node.densify(g));
  const bool tensors = std::none_of(parts.begin(), parts.end(), is_slices);
  return {tensors ? node.add_by_device(dense) : node.add("AddN", dense, {}, {}), {}, {}};
}

}  // namespace

void ArrivedGradients::put(Endpoint tensor, PartialGradient gradient) {
  auto& of_node = by_output_[tensor.node];
  if (of_node.size() <= tensor.slot) of_node.resize(tensor.slot + size_t{1});
  of_node[tensor.slot].push_back(gradient);
}

PartialGradient ArrivedGradients::first_at(Endpoint tensor) const {
  const auto found = by_output_.find(tensor.node);
  if (found == by_output_.end() || found->second.size() <= tensor.slot || found->second[tensor.slot].empty()) return {};
  return found->second[tensor.slot].front();
}

bool ArrivedGradients::any_at(NodeId id) const {
  const auto found = by_output_.find(id);
  return found != by_output_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [](const auto& parts) { return !parts.empty(); });
}

std::vector<PartialGradient> ArrivedGradients::sum_up(NodeGradient& node, NodeId id) {
  auto& of_node = by_output_[id];
  of_node.resize(node.graph().num_outputs(id));
  std::vector<PartialGradient> sums;
  for (auto& parts : of_node) {
    if (parts.size() > 1) parts = {added_up(node, parts)};
    sums.push_back(parts.empty() ? PartialGradient{} : parts.front());
  }
  return sums;
}

}  // namespace emplace
