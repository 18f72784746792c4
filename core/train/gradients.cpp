#include "core/train/gradients.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "core/base/cat.h"
#include "core/train/arrived_gradients.h"
#include "core/train/gradient_gate.h"
#include "core/train/gradient_node.h"
#include "core/train/gradient_path.h"
#include "core/train/loops/loop_gradients.h"
#include "core/train/loops/loop_shapes.h"
#include "core/train/loops/missing_exits.h"
#include "core/train/needed_nodes.h"
#include "core/train/nodes_between.h"

namespace emplace {
namespace {

Status check_types(const GraphEditor& edit, Endpoint loss, std::span<const Endpoint> xs) {
  const Graph& graph = edit.graph();
  if (!is_floating(base_type(edit.type(loss)))) {
    return invalid_argument(cat("'", graph.name(loss.node), "' is ", dtype_name(edit.type(loss)),
                                ", and only a floating-point tensor has gradients"));
  }
  for (Endpoint x : xs) {
    const DType type = base_type(edit.type(x));
    if (!carries_gradient(type) || type == DType::kVariant || kComplexes.has(type)) {
      return invalid_argument(cat("'", graph.name(x.node), "' is ", dtype_name(edit.type(x)),
                                  ": a gradient is with respect to a floating-point tensor or a variable"));
    }
  }
  return ok_status();
}

/// Visits the nodes between the loss and the xs, each once all that read it have sent their gradients back.
class Backprop {
 public:
  /// `num_given`: of nodes that stay, needed or not.
  Backprop(GraphEditor& edit, NodeId num_given, Endpoint loss, std::span<const Endpoint> xs,
           const GradientOptions& options)
      : edit_(edit),
        graph_(edit.graph()),
        loss_(loss),
        xs_(xs),
        options_(options),
        num_given_(num_given),
        num_forward_(graph_.num_nodes()),
        between_(graph_, loss, xs) {}

  Result<Gradients> run() {
    scope_ = edit_.names().unique(options_.scope);
    RETURN_IF_ERROR(find_loops());
    seed();
    RETURN_IF_ERROR(add_loops());
    pending_ = between_.num_readers();
    if (pending_[loss_.node] == 0 && between_.contains(loss_.node)) ready_.push_back(loss_.node);
    visit_unused_exits();
    for (; !ready_.empty(); ready_.pop_front()) RETURN_IF_ERROR(go_back(ready_.front()));
    if (loops_) loops_->finish();
    Gradients out = results();
    RETURN_IF_ERROR(Status(edit_.status()));
    std::vector<NodeId> needed;
    for (size_t i = 0; i < xs_.size(); ++i) needed.insert(needed.end(), {out.of[i].node, out.indices[i].node});
    drop_unneeded(edit_, num_given_, needed, places());
    return out;
  }

 private:
  NodeGradient context(NodeId node) {
    NodeGradient made(edit_, node, options_.colocate);
    made.set_source(scope_);
    made.set_scope(scope_);
    return made;
  }

  LoopPlaces* places() { return loops_ ? &loops_->places() : nullptr; }
  bool is_exit(NodeId id) const { return graph_.traits(id).control == Control::kExit; }

  Status find_loops() {
    auto in_loops = [&](NodeId id) {
      const Control control = graph_.traits(id).control;
      return control == Control::kExit || control == Control::kEnter || control == Control::kNextIteration;
    };
    if (std::none_of(between_.nodes().begin(), between_.nodes().end(), in_loops)) return ok_status();
    ASSIGN_OR_RETURN(ForwardLoops loops, ForwardLoops::find(graph_));
    infer_loop_shapes(edit_, loops);
    loops_.emplace(edit_, std::move(loops), options_.colocate);
    std::vector<Endpoint> ends(xs_.begin(), xs_.end());
    ends.push_back(loss_);
    for (Endpoint e : ends) {
      if (!loops_->is_inside(e.node)) continue;
      return invalid_argument(
          cat("'", graph_.name(e.node), "' is inside of loop '", loops_->frame_name(e.node),
              "': a gradient is that of a tensor outside of loops, with respect to others outside"));
    }
    return ok_status();
  }

  // A loop that is differentiated is so with all its variables.
  Status add_loops() {
    for (size_t i = 0; loops_ && i < between_.nodes().size(); ++i) {
      const NodeId id = between_.nodes()[i];
      if (!is_exit(id)) continue;
      ASSIGN_OR_RETURN(std::vector<NodeId> exits, loops_->add_loop(id, scope_));
      for (NodeId exit : exits) between_.add(exit);
    }
    return Status(edit_.status());
  }

  // d(sum of the loss) / d(loss): ones.
  void seed() {
    NodeGradient node = context(loss_.node);
    const Value loss{loss_.node, loss_.slot};
    const Value shape = node.shape_of(loss), one = node.scalar(node.type(loss), 1, "grad_ys_0/Const");
    arrived_.put(loss_, {node.add("Fill", {shape, one}, {}, "grad_ys_0"), {}, {}});
  }

  void visit_unused_exits() {
    if (!loops_) return;
    for (NodeId exit : loops_->unused_exits([&](NodeId id) { return pending_[id] > 0; }, loss_.node))
      visit_with_zeros(exit);
  }

  void visit_with_zeros(NodeId exit) {
    if (carries_gradient(graph_.output_type({exit, 0})))
      arrived_.put({exit, 0}, {loops_->zeros_for_exit(exit, scope_), {}, {}});
    ready_.push_back(exit);
  }

  // One reader less to wait for. The Exits of a loop are visited together, the Switch of a loop variable twice.
  void one_less(NodeId id) {
    const int64_t left = --pending_[id];
    if (left != 0 && !(left > 0 && loops_ && loops_->is_loop_switch(id))) return;
    if (!is_exit(id)) return ready_.push_back(id);
    const auto has_gradient = [&](NodeId exit) { return arrived_.any_at(exit); };
    const std::vector<NodeId> exits = loops_->exit_is_ready(id, has_gradient);
    const bool any = std::any_of(exits.begin(), exits.end(), has_gradient);
    for (NodeId exit : exits) {
      if (any && !has_gradient(exit))
        visit_with_zeros(exit);
      else
        ready_.push_back(exit);
    }
  }

  // One node: sums what arrived at its outputs, and sends on what its op makes of that.
  Status go_back(NodeId id) {
    NodeGradient node = context(id);
    if (loops_) node.set_loop(loops_->loop_of(id, true));
    std::vector<PartialGradient> arrived = arrived_.sum_up(node, id);
    if (loops_) node.set_loop(loops_->loop_of(id, false));
    const bool any = std::any_of(arrived.begin(), arrived.end(), [](const PartialGradient& g) { return g.valid(); });
    if (any && !between_.is_end(id)) RETURN_IF_ERROR(differentiate(node, std::move(arrived)));
    for (const Endpoint& e : graph_.inputs(id)) {
      if (between_.contains(e.node)) one_less(e.node);
    }
    return Status(edit_.status());
  }

  Status differentiate(NodeGradient& node, std::vector<PartialGradient> arrived) {
    const NodeId id = node.id();
    const OpDef* def = graph_.type(id).def;
    const GradientFunction function = def ? def->gradient_function() : nullptr;
    if (!function) {
      if (def && def->stops_gradients()) return ok_status();
      return unimplemented(cat("op '", graph_.op(id), "' of node '", graph_.name(id), "' has no gradient; the path is ",
                               GradientPath(graph_, loss_, num_forward_, no_gradient_).text(id)));
    }
    std::vector<bool> zeros = fill_gaps(node, arrived);
    node.set_scope(edit_.names().unique(cat(scope_, "/", graph_.name(id), "_grad")));
    node.set_arrived(std::move(arrived), std::move(zeros));
    bool done = false;
    if (node.loop()) {
      ASSIGN_OR_RETURN(done, loops_->differentiate(node, id));
    }
    if (!done)
      RETURN_IF_ERROR(
          function(node).with_context(cat("gradient of node '", graph_.name(id), "' (", graph_.op(id), ")")));
    if (node.loop() && !done) RETURN_IF_ERROR(loops_->bring_in(node));
    send_on(node);
    return ok_status();
  }

  // Zeros for outputs at which nothing arrived. By output: is it these?
  std::vector<bool> fill_gaps(NodeGradient& node, std::vector<PartialGradient>& arrived) {
    const NodeId id = node.id();
    std::vector<bool> zeros(arrived.size(), false);
    for (uint32_t slot = 0; slot < arrived.size(); ++slot) {
      const DType type = base_type(graph_.output_type({id, slot}));
      const bool list = type == DType::kVariant && !(node.loop() && graph_.traits(id).control == Control::kSwitch);
      const bool handle = list || (type == DType::kResource && !node.loop());
      if (arrived[slot].valid() || !carries_gradient(type) || handle) continue;
      arrived[slot].values =
          node.loop() ? loops_->zeros(node, id, slot, arrived) : node.add("ZerosLike", {{id, slot}}, {}, "zeros_like");
      zeros[slot] = true;
    }
    return zeros;
  }

  // What the node's op made of its gradients, to the nodes that it reads.
  void send_on(NodeGradient& node) {
    const NodeId id = node.id();
    std::vector<PartialGradient>& results = node.results();
    for (uint32_t i = 0; i < results.size(); ++i) {
      if (!results[i].valid()) no_gradient_.push_back({id, i});
      if (!between_.contains(graph_.inputs(id)[i].node)) results[i] = {};
    }
    if (options_.gate) gate_gradients(edit_, places(), node, results);
    for (uint32_t i = 0; i < results.size(); ++i) {
      if (results[i].valid()) arrived_.put(graph_.inputs(id)[i], results[i]);
    }
  }

  Gradients results() {
    Gradients out;
    GradientPath path(graph_, loss_, num_forward_, no_gradient_);
    for (Endpoint x : xs_) {
      PartialGradient gradient = arrived_.first_at(x);
      NodeGradient node = context(x.node);
      if (gradient.valid() && !options_.keep_slices) gradient = {node.densify(gradient), {}, {}};
      out.of.push_back({gradient.values.node, gradient.values.slot});
      out.indices.push_back({gradient.indices.node, gradient.indices.slot});
      out.why_not.push_back(gradient.valid() ? "" : path.why_not(x));
    }
    return out;
  }

  GraphEditor& edit_;
  const Graph& graph_;
  Endpoint loss_;
  std::span<const Endpoint> xs_;
  const GradientOptions& options_;
  const NodeId num_given_;
  const NodeId num_forward_;
  std::string scope_;
  NodesBetween between_;
  std::vector<int64_t> pending_;  // by forward node: readers between it and the loss that are still to come
  std::deque<NodeId> ready_;
  std::optional<LoopGradients> loops_;  // if there are loops between the loss and the xs
  ArrivedGradients arrived_;
  std::vector<std::pair<NodeId, uint32_t>> no_gradient_;  // inputs for which a gradient function had none
};

}  // namespace

Result<Gradients> add_gradients(GraphEditor& edit, Endpoint loss, std::span<const Endpoint> xs,
                                const GradientOptions& options) {
  const NodeId num_given = edit.graph().num_nodes();
  add_missing_exits(edit);
  RETURN_IF_ERROR(check_types(edit, loss, xs));
  return Backprop(edit, num_given, loss, xs, options).run();
}

}  // namespace emplace
