/// TypePass: gives every node of a graph its NodeType, in node order, and the literals their element types.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/graph/node_typing.h"
#include "core/graph/type_table.h"

namespace emplace {

class TypePass {
 public:
  /// `file` says which ops, functions and version there are; `graph` is its graph, or the body of a function.
  /// `warnings` gets what TensorFlow accepts and ignores.
  TypePass(const GraphFile& file, Graph& graph, Problems& problems, Problems& warnings);

  /// Adds every problem it finds. Sets Node::type and Node::first_output; the shapes of all outputs become unknown.
  /// `before_node`, if given, is called for each node before it is typed, and may change its attrs.
  /// A node with a problem has type TypeTable::kNone and no outputs.
  void run(const std::function<void(NodeId)>& before_node = nullptr);
  /// What asks to be with a node that is not there goes to the warnings. Of a graph that a person wrote; after run().
  void check_colocation();
  /// After run(): the same for a node that was added behind all others.
  void add(NodeId id);

 private:
  struct OpInfo {
    bool known = false;                      // looked up
    const OpSignature* signature = nullptr;  // null: no such op
    const OpDef* def = nullptr;
    const OpTraits* traits = nullptr;
    bool is_function = false;
    uint32_t aside_type = TypeTable::kNone;  // the last one whose written attrs say nothing of types
  };
  // A loop's back edge: its type is checked when all types are known.
  struct BackEdge {
    NodeId node;
    uint32_t input;
  };

  void begin_node(NodeId id);
  void type_node(NodeId id);
  bool gather_inputs(NodeId id);
  OpInfo& op_info(uint32_t op);
  void report_unknown_op(NodeId id);
  int64_t position_of_input(NodeId id, uint32_t input) const;
  uint32_t make_type(NodeId id, OpInfo& op, const TypeTable::Key& key);
  NodeType build_type(NodeId id, const OpInfo& op);
  void settle_literals(NodeId id, const OpInfo& op);
  void settle_literal(Literal& literal, DType type);
  void set_type(NodeId id, uint32_t type);
  void check_back_edges();
  void report(NodeId id, std::string_view what, std::string hint, Code code = Code::kInvalidArgument);
  void report(NodeId id, const TypeBuilder::Problem& problem, Problems& to);
  void report_wrong_input(NodeId id, uint32_t input, DType got, DType wanted);

  const GraphFile& file_;
  Graph& graph_;
  Problems &problems_, &warnings_;
  TypeTable table_;
  InferredAttrs inferred_;
  TypeBuilder builder_, literal_builder_;
  std::vector<OpInfo> ops_;          // by text id
  std::vector<DType> actual_;        // of the inputs of the node in work
  std::vector<DType> output_types_;  // of all outputs, by Node::first_output
  std::vector<BackEdge> back_edges_;
  std::unordered_map<NodeId, Literal*> literals_;  // by constant
  bool has_open_literal_ = false;                  // among the inputs of the node in work
};

}  // namespace emplace
