/// The nodes of which a variable consists, with the names and colocation that TensorFlow's Python gives them: those
/// of the graph, and new ones for the state of optimizers and for copies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_editor.h"

namespace emplace {

/// A variable of the graph.
struct TrainVariable {
  NodeId node = kNoNode;  // VariableV2 or VarHandleOp
  std::string name;
  bool resource = false;
  DType dtype = DType::kInvalid;
  Shape shape;
  Endpoint handle() const { return {node, 0}; }
};

/// REQUIRES: `node` is a variable (OpTraits::variable). dtype and shape are those that its attrs declare.
TrainVariable describe_variable(const Graph& graph, NodeId node);

/// How a new variable gets its first value.
struct FirstValue {
  std::string name;       // of the node below the variable: "Initializer/zeros"
  double value = 0;       // of every element
  bool may_fill = false;  // large ones by a Fill instead of a constant, as TensorFlow's zeros() and ones()
  Endpoint source;        // instead: this tensor
};

struct NewVariable {
  std::string name;
  bool resource = false;
  DType dtype = DType::kFloat;
  Shape shape;
  FirstValue first;
  std::vector<NodeId> colocate_with;
  std::string device;
};

struct VariableNodes {
  NodeId variable = kNoNode, assign = kNoNode;
  Endpoint read;  // what a reader takes: Identity or ReadVariableOp
  bool resource = false;
  Endpoint handle() const { return {variable, 0}; }
};

VariableNodes add_variable(GraphEditor& edit, const NewVariable& variable);

/// A variable that one number initialises and that belongs to no other: beta1_power, global_step.
VariableNodes add_scalar_variable(GraphEditor& edit, std::string name, Tensor first, bool resource,
                                  std::vector<NodeId> colocate_with, std::string device);

/// `number` as a scalar of a floating or integer type.
Tensor scalar_of(DType dtype, double number);

/// A new read of a handle, or a reference itself: what an op takes that wants the value after `controls`.
Endpoint read_now(GraphEditor& edit, std::string name, const Endpoint& handle, bool resource,
                  std::vector<NodeId> controls = {});

/// `name`, or `name_1`, ... if nodes have it already. Takes nothing: the first node of that name gets it.
std::string free_name(const GraphEditor& edit, std::string_view name);

/// `scope`, or `scope_1`, ... if nodes lie in it already.
std::string free_scope(const GraphEditor& edit, std::string_view scope);

/// tf.group(): one NoOp, or a NoOp a device and one over them. `name` must be free.
NodeId add_group(GraphEditor& edit, const std::string& name, const std::vector<NodeId>& nodes);

}  // namespace emplace
