#include "core/train/loops/loop_gradient.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

using LoopAttrs = std::vector<std::pair<std::string, AttrValue>>;

LoopAttrs int_constant(int32_t value) {
  LoopAttrs attrs;
  attrs.emplace_back("dtype", AttrValue::of(DType::kInt32));
  attrs.emplace_back("value", AttrValue::of(Tensor::scalar<int32_t>(value)));
  return attrs;
}

}  // namespace

std::vector<std::pair<std::string, AttrValue>> enter_attrs(const std::string& frame_name, bool is_constant,
                                                           int64_t parallel_iterations) {
  LoopAttrs attrs;
  attrs.emplace_back("frame_name", AttrValue::of(frame_name));
  attrs.emplace_back("is_constant", AttrValue::of(is_constant));
  attrs.emplace_back("parallel_iterations", AttrValue::of(parallel_iterations));
  return attrs;
}

LoopGradient::LoopGradient(LoopPlaces& places, FrameId forward, LoopGradient* outer, const Site& site)
    : places_(places),
      forward_(forward),
      outer_(outer),
      loop_(places.loops.loop(forward)),
      frame_name_(places.edit.names().unique(cat(site.scope, "/", loop_.frame_name))) {
  count_forward(site);
  count_backward(site);
}

// n = 0; while (the loop's condition) ++n;
void LoopGradient::count_forward(const Site& site) {
  const Place inside = forward_place();
  body_start_ = loop_.body_start;
  if (body_start_ == kNoNode) body_start_ = places_.add(site, "Identity", "Identity", {loop_.body_value}, inside).node;
  const Place around{loop_.outer, loop_.exits.empty() ? kNoCond : places_.loops.side_of({loop_.exits.front(), 0}),
                     nullptr};
  // The pushes of one run of an inner loop come before those of the next.
  std::vector<NodeId> after;
  if (outer_) after = {outer_->forward_add_, outer_->body_start_};
  Endpoint zero = places_.add(site, "f_count", "Const", {}, around, int_constant(0), after);
  Endpoint entered = places_.add(site, "f_count", "Enter", {zero}, inside,
                                 enter_attrs(loop_.frame_name, false, loop_.parallel_iterations));
  Endpoint merge = places_.add(site, "Merge", "Merge", {entered, entered}, inside);
  Endpoint at = places_.add(site, "Switch", "Switch", {merge, {loop_.loop_cond, 0}}, inside);
  NewNode add{.name = places_.edit.names().unique(cat(site.scope, "/Add")),
              .op = "AddV2",
              .colocate_with = site.colocate_with,
              .has_own_name = true};
  add.inputs = {{at.node, 1},
                places_.add({add.name, site.colocate_with}, "y", "Const", {}, inside, int_constant(1), {body_start_})};
  forward_add_ = places_.add(std::move(add), inside).node;
  forward_next_ = places_.add(site, "NextIteration", "NextIteration", {{forward_add_, 0}}, inside).node;
  places_.edit.set_input(merge.node, 1, {forward_next_, 0});
  forward_count_ = places_.add(site, "f_count", "Exit", {at}, around);
}

// n = count; while (n >= 1) --n;
void LoopGradient::count_backward(const Site& site) {
  Endpoint count = outer_ ? outer_->bring(forward_count_, site) : forward_count_;
  NewNode constant{.name = cat(site.scope, "/b_count"),
                   .op = "Const",
                   .attrs = int_constant(1),
                   .colocate_with = site.colocate_with};
  Endpoint one = outer_ ? outer_->add(std::move(constant)) : places_.add(std::move(constant), Place{});
  Endpoint entered = enter(site, "b_count", count);
  Endpoint merge = places_.add(site, "Merge", "Merge", {entered, entered}, place());
  Endpoint more = add({.name = cat(site.scope, "/GreaterEqual"),
                       .op = "GreaterEqual",
                       .inputs = {merge, one},
                       .colocate_with = site.colocate_with});
  condition_ = places_.add(site, "b_count", "LoopCond", {more}, place());
  Endpoint at = places_.add(site, "Switch", "Switch", {merge, condition_}, place());
  index_ = add({.name = cat(site.scope, "/Sub"),
                .op = "Sub",
                .inputs = {{at.node, 1}, one},
                .colocate_with = site.colocate_with});
  next_index_ = places_.add(site, "NextIteration", "NextIteration", {index_}, place()).node;
  places_.edit.set_input(merge.node, 1, {next_index_, 0});
  Endpoint end = exit(site, "b_count", at);
  if (outer_) places_.edit.add_control(outer_->trigger(site), end.node);
}

Endpoint LoopGradient::enter(const Site& site, std::string_view name, Endpoint initial) {
  return places_.add(site, name, "Enter", {initial}, place(),
                     enter_attrs(frame_name_, false, loop_.parallel_iterations));
}

Endpoint LoopGradient::exit(const Site& site, std::string_view name, Endpoint last) {
  return places_.add(site, name, "Exit", {last}, outer_ ? outer_->place() : Place{});
}

void LoopGradient::close(const Site& site, Endpoint merge, Endpoint next) {
  places_.edit.set_input(merge.node, 1, places_.add(site, "NextIteration", "NextIteration", {next}, place()));
}

Endpoint LoopGradient::accumulate(const Site& site, const LoopSum& sum) {
  Endpoint entered = enter(site, "b_acc", sum.initial);
  Endpoint merge = places_.add(site, "b_acc", "Merge", {entered, entered}, place());
  Endpoint at = places_.add(site, "Switch", "Switch", {merge, condition_}, place());
  NewNode step{.name = cat(site.scope, "/", sum.name),
               .op = std::string(sum.op),
               .inputs = {{at.node, 1}, sum.step},
               .colocate_with = site.colocate_with};
  if (sum.last.node != kNoNode) step.inputs.push_back(sum.last);
  close(site, merge, add(std::move(step)));
  return exit(site, "b_acc", at);
}

Endpoint LoopGradient::add(NewNode node) {
  GraphEditor& edit = places_.edit;
  if (!node.has_own_name) node.name = edit.names().unique(node.name);
  node.has_own_name = true;
  // A shape on a stack takes less than the tensor; and a list on a stack could not be changed in place.
  const OpTraits& op = traits_of(node.op);
  if (op.reads_shapes_only() || op.reads_list_form) {
    const Place of_input = places_.of(node.inputs[0]);
    if (of_input.forward == forward_ && !of_input.gradient) {
      node.controls.clear();
      if (is_constant_enter(node.inputs[0].node)) node.controls = {body_start_};
      return places_.add(std::move(node), of_input);
    }
  }
  const Site site{node.name, node.colocate_with};
  bool invariant_only = true;
  for (Endpoint& e : node.inputs) {
    e = bring(e, site);
    invariant_only &= is_constant_enter(e.node);
  }
  if (invariant_only && node.controls.empty()) node.controls = {index_.node};
  return places_.add(std::move(node), place());
}

bool LoopGradient::is_constant_enter(NodeId node) const {
  const Graph& g = places_.edit.graph();
  return node < g.num_nodes() && g.traits(node).control == Control::kEnter && g.attrs(node).flag("is_constant");
}

Endpoint LoopGradient::bring(Endpoint tensor, const Site& site) {
  const Place from = places_.of(tensor);
  if (from.gradient == this || !places_.ok()) return tensor;
  const std::pair key(tensor.node, tensor.slot);
  if (auto known = brought_.find(key); known != brought_.end()) return known->second;
  const bool of_forward = from.forward == forward_ && !from.gradient;
  Endpoint here = of_forward ? of_iteration(tensor, site) : invariant(tensor, site);
  return brought_[key] = here;
}

// An Enter of what the loop around has, or of what is outside of all loops.
Endpoint LoopGradient::invariant(Endpoint tensor, const Site& site) {
  const Place from = places_.of(tensor);
  if (!outer_ && (from.forward != kRootFrame || from.gradient)) {
    const Graph& g = places_.edit.graph();
    places_.fail(unimplemented(cat("the gradient of loop '", loop_.frame_name, "' needs '", g.name(tensor.node), "' (",
                                   g.op(tensor.node), "), which is inside of another loop")));
    return tensor;
  }
  Endpoint outside = outer_ ? outer_->bring(tensor, site) : tensor;
  const std::pair key(outside.node, outside.slot);
  if (auto known = brought_.find(key); known != brought_.end()) return known->second;
  return brought_[key] = places_.add(site, "Enter", "Enter", {outside}, place(),
                                     enter_attrs(frame_name_, true, loop_.parallel_iterations));
}

// The Enter of a loop invariant, if `tensor` is nothing else; kNoNode.
NodeId LoopGradient::constant_enter(Endpoint tensor) const {
  const Graph& g = places_.edit.graph();
  NodeId node = tensor.node;
  while (g.traits(node).identity || g.traits(node).control == Control::kSwitch) node = g.inputs(node)[0].node;
  return is_constant_enter(node) ? node : kNoNode;
}

// What is not a variable of the loop is not kept on a stack.
Endpoint LoopGradient::of_iteration(Endpoint tensor, const Site& site) {
  const Graph& g = places_.edit.graph();
  Endpoint source = tensor;
  LoopGradient* of = this;
  for (NodeId enter = constant_enter(source); enter != kNoNode; enter = constant_enter(source)) {
    source = g.inputs(enter)[0];
    of = of->outer_;
    if (!of) return invariant(source, site);
  }
  if (g.traits(source.node).constant) {
    NewNode copy{.name = cat(site.scope, "/Const"), .op = "Const", .colocate_with = site.colocate_with};
    copy.attrs.emplace_back("dtype", AttrValue::of(g.output_type(source)));
    copy.attrs.emplace_back("value", AttrValue::of(g.attrs(source.node).tensor("value")));
    return add(std::move(copy));
  }
  if (of != this) return invariant(of->bring(source, site), site);
  return from_stack(source, site);
}

}  // namespace emplace
