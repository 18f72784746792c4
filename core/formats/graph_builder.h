/// GraphBuilder: collects the nodes of one graph in file order and leaves a Graph in TensorFlow's node order. Names are
/// resolved at the end, so references may come before what they name.
///
/// Until finish() a node is known by its place in the order of adding; afterwards new_id(place) is its id.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/load_context.h"
#include "core/graph/graph.h"

namespace emplace {

class GraphBuilder {
 public:
  GraphBuilder(LoadContext& c, Graph& g) : c_(c), graph_(g) {}

  /// A node of this name comes soon.
  void announce(std::string_view name) const { index_.prefetch(NameIndex::hash(name)); }

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
  /// Inputs that name `variable` read `read` instead where their op wants neither a reference nor a handle. The
  /// variable's own nodes [first_own, end_own) are left as they are.
  struct VariableNodes {
    NodeId variable, read, first_own, end_own;
  };
  void add_variable(VariableNodes v) { variables_.push_back(v); }
  /// `after` is built after the node named `before`, as if it read it. REQUIRES: ascending `after`.
  void add_order(std::string_view before, std::string_view scope, NodeId after) {
    orders_.push_back({before, scope, after});
  }
  /// The `_class` of `node` names nodes as its inputs do. For nodes inside a scope.
  void add_scoped_class(NodeId node, std::string_view scope) { scoped_classes_.push_back({node, scope}); }

  /// Adds problems about unknown names and cycles. If there are any, the graph cannot be used.
  void finish();
  NodeId new_id(NodeId place) const { return new_id_.empty() ? place : new_id_[place]; }

  Graph& graph() { return graph_; }
  NodeId num_nodes() const { return graph_.num_nodes(); }

 private:
  struct Name {
    const char* text;
    uint32_t size;
    NodeId node;  // kNoNode: no node of that name so far
    std::string_view view() const { return {text, size}; }
  };
  struct Pending {          // an input of the next node; looked up when the node is added, and prefetched until then
    std::string_view name;  // empty: settled later
    uint32_t tag = 0, slot = 0;
  };
  struct InputText {  // an input whose meaning hangs on what is known at the end
    bool control;
    uint32_t edge;                 // among the pending ones, then in the graph
    std::string_view name, scope;  // scope: to be searched from
    std::string_view output;       // of a function body's "n:output:1"
  };
  struct Order {
    std::string_view before, scope;
    NodeId after;
  };
  struct ScopedClass {
    NodeId node;
    std::string_view scope;
  };

  uint32_t name_id(std::string_view name) { return name_id(name, NameIndex::hash(name)); }
  uint32_t name_id(std::string_view name, uint32_t tag);
  Pending pending(std::string_view name, uint32_t slot) const;
  void add_edges(const std::vector<Pending>& inputs);
  NodeId define(const NewNode& n);
  uint32_t find_scoped(std::string_view name, std::string_view scope) const;
  int64_t position_of(std::string_view text, NodeId user) const;
  void unknown_name(std::string_view name, int64_t position, std::string_view used_by);

  void resolve_input_texts();
  void resolve_classes();
  void resolve_edges();
  void resolve_outputs();
  void read_variables();
  bool wants_handle(NodeId consumer, uint32_t input);
  void merge_duplicate_controls();
  void put_in_order();

  LoadContext& c_;
  Graph& graph_;
  std::vector<Name> names_;  // all that were defined or referred to; edges hold these numbers until finish()
  NameIndex index_;          // of names_
  std::vector<Pending> data_, controls_;  // of the next node
  std::vector<InputText> input_texts_;
  size_t pending_texts_ = 0;  // those of the next node, at the end of input_texts_
  std::vector<Order> orders_;
  std::vector<ScopedClass> scoped_classes_;
  std::vector<VariableNodes> variables_;
  std::vector<NodeId> new_id_;
  int unknown_names_ = 0;
};

}  // namespace emplace
