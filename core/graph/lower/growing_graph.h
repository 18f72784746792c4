/// GrowingGraph: a graph while functional nodes in it are replaced by others. New nodes get the next ids; a replaced
/// node stays as a signpost for those that read it until the end, so nobody has to know a node's readers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attr_lists.h"
#include "core/graph/lower/bodies.h"
#include "core/graph/lower/lowered.h"
#include "core/graph/lower/signposts.h"

namespace emplace {

/// Text ids of the ops that take the place of functional nodes.
struct MadeOps {
  explicit MadeOps(Graph& graph);
  uint32_t identity, identity_n, no_op, merge, switch_, switch_n, enter, placeholder;
};

/// What lowering knows of a node.
struct NodeFacts {
  const NodeType* type = nullptr;   // as it was typed before; null: made by lowering
  const FuncValue* call = nullptr;  // a branch, condition or body as a call
  uint32_t origin = Origins::kFile;
  uint32_t call_outputs = 0;          // of such a call: how many results are read
  uint32_t colocation = 0;            // the list of attrs that colocates with the node; 0: not made yet
  bool waited_for : 1 = false;        // some node has a control edge from it
  bool waited_for_alone : 1 = false;  // one that reads none of its outputs
  bool constant_enter : 1 = false;
  bool left_alone : 1 = false;
  bool kept : 1 = false;
  bool single_device : 1 = false;  // of such a call: its nodes run where the call does, whatever they ask for
};

/// A node that is about to be replaced.
struct FunctionalSite {
  NodeId node;
  std::string_view name;
  uint32_t device;
  const NodeType* type;
  uint32_t caller;               // origin of the node
  uint32_t origin;               // of what is made in its place
  std::vector<Endpoint> inputs;  // as they are by now
  std::vector<NodeId> controls;
  bool kept;  // its name lives on
};

/// Op, device and attrs of a node to make, as ids of the graph, and where it comes from.
struct MadeNode {
  uint32_t op;
  uint32_t device;
  uint32_t attr_set = 0;
  uint32_t origin = 0;
};

class GrowingGraph {
 public:
  /// Begins with the nodes of `file`. All must outlive it.
  GrowingGraph(const GraphFile& file, const LowerOptions& options, Graph& target, Origins& origins, Bodies& bodies);

  NodeFacts& facts(NodeId node) { return facts_[node]; }
  const NodeFacts& facts(NodeId node) const { return facts_[node]; }
  bool is_of_file(NodeId node) const { return node < num_of_file_; }
  bool is_replaced(NodeId node) const { return signposts_.stands_at(node); }
  uint32_t device_of(NodeId node) const { return graph.node(node).device; }
  NodeId next_id() const { return graph.num_nodes(); }

  NodeId add(std::string_view name, const MadeNode& what, std::span<const Endpoint> inputs,
             std::span<const NodeId> controls = {});
  /// The same in parts: the node, then its inputs, then its controls, before the next node.
  NodeId begin_node(std::string_view name, const MadeNode& what);
  void add_input(Endpoint source) {
    graph.edges_.push_back(source);
    ++graph.nodes_.back().num_inputs;
  }
  void add_control(NodeId source) {
    graph.edges_.push_back({source, 0});
    ++graph.nodes_.back().num_controls;
    if (source < facts_.size()) facts_[source].waited_for = facts_[source].waited_for_alone = true;
  }
  /// A call of `function`, to be inlined in its turn; `num_outputs` results of it are read. What TensorFlow leaves as
  /// one node, and what its functions do, runs on that node's device.
  NodeId add_call(std::string_view name, const FunctionalSite& site, const FuncValue& function, size_t num_outputs,
                  std::span<const Endpoint> inputs, std::span<const NodeId> controls);
  void set_input(NodeId node, uint32_t input, Endpoint source);
  /// A name that no other node has, as TensorFlow makes them while it lowers.
  std::string_view new_name(std::string_view prefix, std::string_view infix);
  /// The number of a list of attrs (core/graph/attr_lists.h) that colocates with the node.
  uint32_t colocation_with(NodeId node);
  /// The list of attrs that has the node's own `_class`; 0: it has none.
  uint32_t colocation_of(NodeId node);

  FunctionalSite open_site(NodeId node);
  /// From now on, these stand for the node's outputs, and for the node in control edges.
  void replace(const FunctionalSite& site, std::span<const Endpoint> outputs, NodeId control) {
    signposts_.put(site.node, outputs, control);
  }
  /// A node of the old name, so that it can be fetched or waited for.
  void keep_name(const FunctionalSite& site, std::span<const Endpoint> outputs, NodeId control,
                 bool outputs_wait = true);
  Status failure(const FunctionalSite& site, Code code, std::string_view what);
  /// After a failure: where in the source.
  int64_t failed_at() const { return failed_at_; }

  /// Takes the replaced nodes away. Afterwards the graph holds what is left, in order of ids. Their origins.
  std::vector<uint32_t> finish();

  Graph& graph;
  Origins& origins;
  const MadeOps ops;

 private:
  void wait_for_sources(FunctionalSite& site);
  void settle_edges(NodeId node, const std::vector<NodeId>& new_id);
  void index_names();

  const LowerOptions& options_;
  std::vector<NodeFacts> facts_;  // by node
  Signposts signposts_;
  NodeId num_of_file_ = 0;
  uint64_t num_names_ = 0;  // made so far
  std::string name_;        // the last of them
  int64_t failed_at_ = kNoPosition;
  bool is_function_ = false;  // the graph is a function's own: names live on to be waited for only
};

}  // namespace emplace
