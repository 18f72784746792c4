#include "core/graph/lower/signposts.h"

namespace emplace {

void Signposts::put(NodeId node, std::span<const Endpoint> outputs, NodeId control) {
  if (node >= by_node_.size()) by_node_.resize(node + size_t{1}, kNone);
  by_node_[node] = static_cast<uint32_t>(signposts_.size());
  signposts_.push_back({static_cast<uint32_t>(outputs_.size()), control});
  outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
}

Endpoint Signposts::follow(Endpoint output) const {
  while (stands_at(output.node)) output = outputs_[signposts_[by_node_[output.node]].first_output + output.slot];
  return output;
}

NodeId Signposts::follow_control(NodeId node) const {
  while (stands_at(node)) node = signposts_[by_node_[node]].control;
  return node;
}

}  // namespace emplace
