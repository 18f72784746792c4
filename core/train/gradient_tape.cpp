// Part of core/train/gradient_node.h: NodeGradient::tape_gradient(): reverse mode over what a gradient function itself
// has built.
#include <algorithm>
#include <cctype>
#include <deque>
#include <map>

#include "core/base/cat.h"
#include "core/train/gradient_node.h"
#include "core/train/loops/loop_gradient.h"

namespace emplace {
namespace {

class Tape {
 public:
  Tape(GraphEditor& edit, NodeGradient& owner, bool colocate, NodeId first)
      : edit_(edit),
        graph_(edit.graph()),
        owner_(owner),
        colocate_(colocate),
        first_(first),
        end_(graph_.num_nodes()) {}

  Result<std::vector<Value>> gradient(const std::vector<Value>& targets, const std::vector<Value>& sources,
                                      const std::vector<Value>& seeds) {
    mark_recorded(sources);
    count_pending(targets);
    for (size_t i = 0; i < targets.size(); ++i) arrived_[key(targets[i])].push_back(seeds[i]);
    std::deque<NodeId> ready;
    for (NodeId id = first_; id < end_; ++id) {
      if (between_[id - first_] && pending_[id - first_] == 0) ready.push_back(id);
    }
    for (; !ready.empty(); ready.pop_front()) {
      RETURN_IF_ERROR(go_back(ready.front()));
      for (const Endpoint& e : graph_.inputs(ready.front())) {
        if (is_between(e.node) && --pending_[e.node - first_] == 0) ready.push_back(e.node);
      }
    }
    std::vector<Value> out;
    out.reserve(sources.size());
    for (Value source : sources) out.push_back(sum(source));
    return out;
  }

 private:
  static std::pair<uint32_t, uint32_t> key(Value v) { return {v.node, v.slot}; }
  bool is_between(NodeId id) const { return id >= first_ && id < end_ && between_[id - first_]; }

  // Nodes that depend on the sources. Every node comes after those that it reads.
  void mark_recorded(const std::vector<Value>& sources) {
    recorded_.assign(end_ - first_, false);
    for (NodeId id = first_; id < end_; ++id) {
      auto inputs = graph_.inputs(id);
      recorded_[id - first_] = std::any_of(inputs.begin(), inputs.end(), [&](const Endpoint& e) {
        const Value read{e.node, e.slot};
        const bool on_the_way = e.node >= first_ && e.node < end_ && recorded_[e.node - first_];
        return (on_the_way && is_floating(base_type(edit_.type(e)))) ||
               std::find(sources.begin(), sources.end(), read) != sources.end();
      });
    }
  }

  void count_pending(const std::vector<Value>& targets) {
    between_.assign(end_ - first_, false);
    pending_.assign(end_ - first_, 0);
    for (Value v : targets) {
      if (v.node >= first_) between_[v.node - first_] = recorded_[v.node - first_];
    }
    for (NodeId id = end_; id-- > first_;) {
      if (!between_[id - first_]) continue;
      for (const Endpoint& e : graph_.inputs(id)) {
        if (e.node < first_ || !recorded_[e.node - first_]) continue;
        between_[e.node - first_] = true;
        ++pending_[e.node - first_];
      }
    }
  }

  // The sum of all gradients that arrived at a tensor.
  Value sum(Value v) {
    auto& parts = arrived_[key(v)];
    if (parts.size() > 1) parts = {owner_.add("AddN", parts, {}, {})};
    return parts.empty() ? Value{} : parts.front();
  }

  Status go_back(NodeId id) {
    const Value gradient = sum({id, 0});
    const OpDef* def = graph_.type(id).def;
    if (!gradient.valid() || (def && def->stops_gradients())) return ok_status();
    if (!def || !def->gradient_function()) return unimplemented(cat("op '", graph_.op(id), "' has no gradient"));
    NodeGradient node(edit_, id, colocate_);
    node.set_loop(owner_.loop());
    node.set_scope(cat("gradient_tape/", opens_scope(id) ? std::string(graph_.name(id)) : owner_.scope()));
    node.set_arrived({{gradient, {}, {}}}, {false});
    RETURN_IF_ERROR(def->gradient_function()(node));
    const std::vector<PartialGradient>& results = node.results();
    for (size_t i = 0; i < results.size(); ++i) {
      const Endpoint e = graph_.inputs(id)[i];
      if (results[i].valid()) arrived_[{e.node, e.slot}].push_back(node.densify(results[i]));
    }
    return ok_status();
  }

  // Python's operators (named in small letters) and cast() open a scope of their name, other functions none.
  bool opens_scope(NodeId id) const {
    std::string_view name = graph_.name(id);
    name = name.substr(name.rfind('/') + 1);
    return graph_.traits(id).python_scope || std::islower(static_cast<unsigned char>(name.front())) != 0;
  }

  GraphEditor& edit_;
  const Graph& graph_;
  NodeGradient& owner_;
  const bool colocate_;
  const NodeId first_, end_;  // of what was built
  std::vector<bool> recorded_, between_;
  std::vector<int> pending_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Value>> arrived_;
};

}  // namespace

Result<std::vector<Value>> NodeGradient::tape_gradient(const std::vector<Value>& targets,
                                                       const std::vector<Value>& sources,
                                                       const std::vector<Value>& seeds) {
  RETURN_IF_ERROR(Status(edit_.status()));
  std::vector<Value> here = sources;  // as what was built reads them
  for (Value& v : here) {
    if (!loop_) continue;
    const Endpoint brought = loop_->bring({v.node, v.slot}, {scope_, {node_}});
    v = {brought.node, brought.slot};
  }
  return Tape(edit_, *this, colocate_, first_).gradient(targets, here, seeds);
}

}  // namespace emplace
