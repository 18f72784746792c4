/// Lowering: a graph while functional nodes in it are replaced by others. New nodes get the next ids; a replaced node
/// stays as a signpost for those that read it until the end, so nobody has to know a node's readers.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/lower/bodies.h"
#include "core/graph/lower/lowered.h"

namespace emplace {

class Lowering {
 public:
  /// The result goes to `target`. `instances` as in Bodies.
  Lowering(const GraphFile& file, const LowerOptions& options, Graph& target, Lowered& lowered,
           std::vector<std::unique_ptr<Graph>>& instances);

  /// Replaces what is to be replaced, node for node, to the growing end.
  Status run();
  /// After a failure: where in the source.
  int64_t failed_at() const { return failed_at_; }
  /// Takes the signposts away. Afterwards the graph holds what is left, in order of ids. Their origins.
  std::vector<uint32_t> finish();

 private:
  struct Facts {                      // of a node
    const NodeType* type = nullptr;   // as it was typed before; null: made here
    const FuncValue* call = nullptr;  // a branch, condition or body as a call
    uint32_t origin = Origins::kFile;
    uint32_t signpost = kNone;
    uint32_t call_outputs = 0;    // of such a call: how many results are read
    bool waited_for : 1 = false;  // some node has a control edge from it
    bool constant_enter : 1 = false;
    bool left_alone : 1 = false;
    bool kept : 1 = false;
  };
  struct Signpost {
    uint32_t first_output;  // in signpost_outputs_
    NodeId control;
  };
  /// The node that is replaced.
  struct Site {
    NodeId node;
    std::string_view name;
    uint32_t device;
    const NodeType* type;
    uint32_t caller;               // origin of the node
    uint32_t origin;               // of what is made in its place
    std::vector<Endpoint> inputs;  // as they are by now
    std::vector<NodeId> controls;
    bool kept;
  };
  struct Branch {  // of an If or Case
    const FuncValue* function;
    std::string_view call_name;
    NodeId pivot;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};

  // lowering.cpp
  void copy_nodes();
  Status visit(NodeId node);
  Site open_site(NodeId node);
  Status lower_control_flow(NodeId node, FunctionalOp kind);
  void wait_for_sources(Site& site);
  Endpoint resolve(Endpoint e) const;
  NodeId resolve_control(NodeId node) const;
  bool is_kept(NodeId node) const { return options_.keep_all || facts_[node].kept; }
  void replace(const Site& site, std::span<const Endpoint> outputs, NodeId control);
  void keep_name(const Site& site, std::span<const Endpoint> outputs, NodeId control, bool outputs_wait = true);
  std::string_view new_name(std::string_view prefix, std::string_view infix);
  Status failure(const Site& site, Code code, std::string_view what);

  struct NewOp {
    uint32_t op;
    uint32_t device;
    uint32_t attr_set = 0;
    uint32_t origin = 0;
  };
  NodeId add(std::string_view name, const NewOp& what, std::span<const Endpoint> inputs,
             std::span<const NodeId> controls = {});
  NodeId next_id() const { return graph_.num_nodes(); }
  void set_input(NodeId node, uint32_t input, Endpoint source) {
    graph_.edges_[graph_.node(node).first_input + input] = source;
  }
  uint32_t device_of(NodeId node) const { return graph_.node(node).device; }
  NodeId add_call(std::string_view name, const Site& site, const FuncValue& function, size_t num_outputs,
                  std::span<const Endpoint> inputs, std::span<const NodeId> controls);

  uint32_t op_id(std::string_view op) { return graph_.intern(op); }
  const AttrValue* value(AttrValue v) { return &graph_.attr_values_.emplace_back(std::move(v)); }
  uint32_t attrs(std::vector<Attrs::Entry> entries);
  uint32_t colocated_with(std::string_view name);
  static const FuncValue* function_attr(const NodeType& type, std::string_view name);

  // if.cpp, case.cpp
  Status lower_if(Site& site);
  Status lower_case(Site& site);
  void join_branches(Site& site, std::span<const Branch> branches, std::span<const NodeId> switches, bool two_way,
                     std::string_view merge_name);

  // while.cpp
  Status lower_while(Site& site);
  std::pair<uint32_t, uint32_t> enter_attrs(const Site& site);
  void add_back_edges(const Site& site, NodeId body_call, std::span<const NodeId> merges);

  // call.cpp
  Status inline_call(NodeId node, FunctionalOp kind, const Body& body);
  Result<const Body*> body_to_inline(NodeId node, FunctionalOp kind);
  Status check_growth(const Site& site, const Body& body);
  struct Inlining;
  void copy_body(const Site& site, Inlining& in);
  uint32_t body_attrs(const Site& site, const Inlining& in, const Body::Item& item);
  uint32_t merged_device(uint32_t own, uint32_t callers);

  const GraphFile& file_;
  const LowerOptions& options_;
  Graph& graph_;
  Origins& origins_;
  Bodies bodies_;
  std::vector<Facts> facts_;  // by node
  std::vector<Signpost> signposts_;
  std::vector<Endpoint> signpost_outputs_;
  NodeId first_made_ = 0;
  uint64_t counter_ = 0;  // of names
  int64_t failed_at_ = kNoPosition;
  bool is_function_ = false;  // the graph is a function's own: names live on to be waited for only
  std::unordered_map<uint64_t, uint32_t> merged_devices_;
  std::deque<FuncValue> native_calls_;
  std::vector<NodeId> later_;  // control sources of a body that are copied after what waits for them
  const uint32_t identity_, identity_n_, no_op_, merge_, switch_, switch_n_, enter_, placeholder_;
};

}  // namespace emplace
