#include "core/train/gradient_node.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/train/loops/loop_gradient.h"

namespace emplace {

Value NodeGradient::grad(int i) {
  PartialGradient& arrived = arrived_[static_cast<size_t>(i)];
  if (arrived.is_slices()) arrived = {densify(arrived), {}, {}};
  return arrived.values;
}

Value NodeGradient::add(std::string_view op, const std::vector<Value>& inputs, AttrList attrs, std::string_view name) {
  NewNode node{.name = cat(scope_, "/", name.empty() ? op : name), .op = std::string(op), .attrs = std::move(attrs)};
  for (Value v : inputs) {
    if (!v.valid()) return {};
    node.inputs.push_back({v.node, v.slot});
  }
  if (colocate_) node.colocate_with = {node_};
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
