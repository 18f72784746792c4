#include "core/train/gradient_node.h"

#include <algorithm>
#include <map>

#include "core/base/cat.h"
#include "core/train/loops/loop_gradient.h"

namespace emplace {

Value NodeGradient::grad(int i) {
  PartialGradient& arrived = arrived_[static_cast<size_t>(i)];
  if (arrived.is_slices()) arrived = {densify(arrived), {}, {}};
  return arrived.values;
}

Value NodeGradient::add(std::string_view op, const std::vector<Value>& inputs, AttrList attrs, std::string_view name) {
  return add_at(op, inputs, std::move(attrs), name, colocate_ ? std::vector<NodeId>{node_} : std::vector<NodeId>{});
}

// _MultiDeviceAddN() of gradients_util.py.
Value NodeGradient::add_by_device(const std::vector<Value>& tensors) {
  std::map<std::string_view, std::vector<Value>> of_device;
  for (Value v : tensors) {
    if (!v.valid()) return {};
    of_device[edit_.graph().requested_device(v.node)].push_back(v);
  }
  std::vector<Value> sums;
  sums.reserve(of_device.size());
  for (const auto& [device, parts] : of_device)
    sums.push_back(parts.size() == 1 ? parts.front() : add_at("AddN", parts, {}, {}, {parts.front().node}));
  return sums.size() == 1 ? sums.front() : add("AddN", sums, {}, {});
}

Value NodeGradient::add_at(std::string_view op, const std::vector<Value>& inputs, AttrList attrs, std::string_view name,
                           std::vector<NodeId> colocate_with) {
  // What belongs to a node that comes after it ("Sum/reduction_indices") is named below that node's name.
  std::string_view rest = name.empty() ? op : name;
  std::string own = in_scope("");
  for (size_t slash; (slash = rest.find('/')) != std::string_view::npos; rest.remove_prefix(slash + 1)) {
    own = cat(edit_.names().next(cat(own, rest.substr(0, slash))), "/");
  }
  own += rest;
  NewNode node{
      .name = own, .op = std::string(op), .attrs = std::move(attrs), .colocate_with = std::move(colocate_with)};
  for (Value v : inputs) {
    if (!v.valid()) return {};
    node.inputs.push_back({v.node, v.slot});
  }
  if (waits_for_ != kNoNode) {
    bool waits = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Endpoint& e) {
      return e.node == waits_for_ || std::find(after_.begin(), after_.end(), e.node) != after_.end();
    });
    if (!waits) node.controls = {waits_for_};
  }
  NodeId id = loop_ ? loop_->add(std::move(node)).node : edit_.add(std::move(node));
  if (waits_for_ != kNoNode) after_.push_back(id);
  return {id, 0};
}

Value NodeGradient::constant(Tensor value, std::string_view name) {
  AttrList attrs;
  attrs.emplace_back("dtype", AttrValue::of(value.dtype()));
  attrs.emplace_back("value", AttrValue::of(std::move(value)));
  return add("Const", {}, std::move(attrs), name);
}

void NodeGradient::wait_for(Value v) {
  waits_for_ = v.node;
  after_.clear();
}

}  // namespace emplace
