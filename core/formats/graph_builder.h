/// GraphBuilder: collects the nodes of one graph in file order and leaves a Graph in TensorFlow's node order. Names are
/// resolved at the end, so references may come before what they name.
///
/// Until finish() a node is known by its place in the order of adding; afterwards new_id(place) is its id.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/load_context.h"
#include "core/formats/open_references.h"
#include "core/graph/graph.h"

namespace emplace {

class GraphBuilder {
 public:
  GraphBuilder(LoadContext& c, Graph& g) : c_(c), graph_(g) {}

  /// A node of this name comes soon.
  void announce(std::string_view name) {
    announced_ = {name, NameIndex::hash(name)};
    open_.names.prefetch(announced_.second);
  }

  /// A guess of what is to come, so that nothing grows by copying. Room that is not used costs no memory.
  void expect(size_t nodes, size_t edges);

  // --- the inputs of the next node, which is added after them ---

  /// "n", "n:1", "^n" (in a function body also "n:output:1"). Inside a scope `n` may be relative to it or to one
  /// around it. False, and no problem told, if the form is wrong.
  bool add_input(std::string_view reference, std::string_view scope);
  void add_input(NodeId node) { data_.push_back(pending(graph_.nodes_[node].name, 0)); }
  /// A data input that set_input() will name.
  void add_open_input() { data_.push_back({}); }
  void set_input(uint32_t input, NodeId node) { data_[input] = pending(graph_.nodes_[node].name, 0); }
  uint32_t num_inputs() const { return static_cast<uint32_t>(data_.size()); }
  bool has_controls() const { return !controls_.empty(); }
  void drop_inputs();

  struct NewNode {
    std::string_view name;  // lives as long as the graph
    int64_t position = kNoPosition;
    uint32_t op = 0, device = 0, attr_set = 0;
  };
  /// With the inputs collected since the last call. kNoNode, and a problem, if the name is taken.
  NodeId add_node(const NewNode& n);
  /// Without inputs; those collected wait for the next add_node().
  NodeId add_source(const NewNode& n);

  // --- relations that are settled in finish() ---

  /// `constant` and `consumer` are places.
  void add_literal(Literal literal) { graph_.literals_.push_back(std::move(literal)); }
  void add_variable(OpenReferences::Variable v) { open_.variables.push_back(v); }
  /// `after` is built after the node named `before`, as if it read it. REQUIRES: ascending `after`.
  void add_order(std::string_view before, std::string_view scope, NodeId after) {
    open_.orders.push_back({before, scope, after});
  }
  /// The `_class` of `node` names nodes as its inputs do. For nodes inside a scope.
  void add_scoped_class(NodeId node, std::string_view scope) { open_.scoped_classes.push_back({node, scope}); }

  /// Adds problems about unknown names and cycles. If there are any, the graph cannot be used.
  void finish() { new_id_ = resolve_references(c_, graph_, open_); }
  NodeId new_id(NodeId place) const { return new_id_.empty() ? place : new_id_[place]; }

  Graph& graph() { return graph_; }
  NodeId num_nodes() const { return graph_.num_nodes(); }

 private:
  struct Pending {          // an input of the next node; looked up when the node is added, and prefetched until then
    std::string_view name;  // empty: settled later
    uint32_t tag = 0, slot = 0;
  };

  uint32_t tag_of(std::string_view name) const {
    return name.data() == announced_.first.data() && name.size() == announced_.first.size() ? announced_.second
                                                                                            : NameIndex::hash(name);
  }
  Pending pending(std::string_view name, uint32_t slot) const;
  void add_edges(const std::vector<Pending>& inputs);
  NodeId define(const NewNode& n);
  [[gnu::cold]] void name_is_taken(const NewNode& n, NodeId by);

  LoadContext& c_;
  Graph& graph_;
  OpenReferences open_;
  std::pair<std::string_view, uint32_t> announced_;  // a name with its hash
  std::vector<Pending> data_, controls_;             // of the next node
  size_t pending_texts_ = 0;                         // those of the next node, at the end of open_.input_texts
  std::vector<NodeId> new_id_;
};

}  // namespace emplace
