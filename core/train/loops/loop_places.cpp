#include "core/train/loops/loop_places.h"

#include "core/base/cat.h"

namespace emplace {

NewNode switch_of(const CondSide& side, std::string name, Endpoint data, Endpoint pred,
                  std::vector<NodeId> colocate_with) {
  NewNode node{.name = std::move(name), .inputs = {data, pred}, .colocate_with = std::move(colocate_with)};
  node.op = side.numbered == 0 ? "Switch" : "_SwitchN";
  if (side.numbered != 0) node.attrs.emplace_back("num_outs", AttrValue::of(int64_t{side.numbered}));
  return node;
}

Endpoint LoopPlaces::add(NewNode node, const Place& place) {
  const Endpoint added = edit.add_output(std::move(node));
  if (place.forward != kRootFrame || place.gradient) places_[added.node] = place;
  return added;
}

Endpoint LoopPlaces::add(const Site& site, std::string_view name, std::string_view op, std::vector<Endpoint> inputs,
                         const Place& place, std::vector<std::pair<std::string, AttrValue>> attrs,
                         std::vector<NodeId> controls) {
  return add({.name = cat(site.scope, "/", name),
              .op = std::string(op),
              .inputs = std::move(inputs),
              .attrs = std::move(attrs),
              .controls = std::move(controls),
              .colocate_with = site.colocate_with},
             place);
}

Place LoopPlaces::of(Endpoint tensor) const {
  if (tensor.node < num_forward_) return {loops.of_output(tensor.node), loops.side_of(tensor), nullptr};
  auto found = places_.find(tensor.node);
  return found == places_.end() ? Place{} : found->second;
}

void LoopPlaces::add_stack(NodeId push, NodeId pop) {
  push_of_[pop] = push;
  orders_.insert({push, pop});
}

NodeId LoopPlaces::push_of(NodeId pop) const {
  auto found = push_of_.find(pop);
  return found == push_of_.end() ? kNoNode : found->second;
}

void LoopPlaces::add_trigger(NodeId trigger) {
  triggers_.push_back(trigger);
  orders_.insert(trigger);
}

void LoopPlaces::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

}  // namespace emplace
