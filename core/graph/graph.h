/// Graph: nodes, edges, attributes and requested devices in flat arrays, made by load, typed by validate.
///
/// Nodes are numbered in the order in which TensorFlow builds a graph (among the nodes
/// whose inputs exist already, the one that stands first in the file), so every input of a node has a smaller id,
/// except for a loop's back edge (NextIteration into Merge). Strings point into the source or into the graph.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/shape.h"
#include "core/graph/name_index.h"
#include "core/graph/source.h"
#include "core/graph/text_table.h"
#include "core/op/attr_value.h"
#include "core/op/op_def.h"
#include "core/op/signature.h"

namespace emplace {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

/// Output `slot` of `node`.
struct Endpoint {
  NodeId node = kNoNode;
  uint32_t slot = 0;
  bool operator==(const Endpoint&) const = default;
};

/// A node, 56 bytes. Everything of variable length is in the graph's arrays.
struct Node {
  std::string_view name;
  int64_t position = kNoPosition;  // of the node's name in the source
  uint32_t op = 0;                 // text id
  uint32_t device = 0;             // text id of the requested device, blocks merged in, as written; 0: none
  uint32_t attr_set = 0;           // as written
  uint32_t type = 0;               // after validate: index for Graph::type()
  uint32_t first_input = 0;        // into the edge array: data inputs, then control inputs
  uint32_t num_inputs = 0;
  uint32_t num_controls = 0;
  uint32_t first_output = 0;  // after validate: into the output shape array
};

/// What all nodes with the same op, attrs and input types have in common; made once by validate, shared by them.
/// The lists are the graph's (many types share them) and live as long as it does.
struct NodeType {
  std::string_view op;
  const OpSignature* signature = nullptr;  // null: a call of a library function
  const OpDef* def = nullptr;              // null: emplace cannot run it
  const OpTraits* traits = nullptr;        // never null once made
  std::span<const Attrs::Entry> attrs;     // as written, then what could be inferred, then defaults
  std::span<const DType> input_types;      // expected by the op, reference types included
  std::span<const DType> output_types;
  std::span<const uint16_t> input_args;  // for each input slot: index in signature->inputs
  std::span<const uint16_t> output_args;
  Attrs view() const { return Attrs(attrs); }
};

/// What the lists of node types point into.
struct NodeTypeLists {
  std::deque<std::vector<Attrs::Entry>> attrs;
  std::deque<std::vector<DType>> dtypes;
  std::deque<std::vector<uint16_t>> args;
};

/// A literal in an `input` list: a Const whose element type validate settles.
struct Literal {
  NodeId constant = kNoNode;  // the Const node that stands for it
  NodeId consumer = kNoNode;
  uint32_t input = 0;  // which input of the consumer
  Tensor value;        // float64, int64, bool or string as written, or the stated dtype
  bool typed = false;  // the object form stated a dtype
};

class Graph {
 public:
  // Not inline, nor are the members' first values: nearly every file includes this one, and each would instantiate
  // them.
  Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  // --- reading; any number of threads, once built ---
  uint32_t num_nodes() const { return static_cast<uint32_t>(nodes_.size()); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::string_view name(NodeId id) const { return nodes_[id].name; }
  std::string_view op(NodeId id) const { return text(nodes_[id].op); }
  std::string_view requested_device(NodeId id) const { return text(nodes_[id].device); }
  std::span<const Endpoint> inputs(NodeId id) const {
    return {edges_.data() + nodes_[id].first_input, nodes_[id].num_inputs};
  }
  /// Sources of control edges; slot has no meaning.
  std::span<const Endpoint> controls(NodeId id) const {
    return {edges_.data() + nodes_[id].first_input + nodes_[id].num_inputs, nodes_[id].num_controls};
  }
  /// kNoNode if there is none.
  NodeId find(std::string_view name) const;
  std::string_view text(uint32_t text_id) const { return texts_[text_id]; }
  uint32_t num_texts() const { return texts_.size(); }

  // After validate.
  const NodeType& type(NodeId id) const { return types_[nodes_[id].type]; }
  const std::deque<NodeType>& types() const { return types_; }
  const OpTraits& traits(NodeId id) const { return *type(id).traits; }
  Attrs attrs(NodeId id) const { return type(id).view(); }
  uint32_t num_outputs(NodeId id) const { return static_cast<uint32_t>(type(id).output_types.size()); }
  DType output_type(Endpoint e) const { return type(e.node).output_types[e.slot]; }
  const Shape& output_shape(Endpoint e) const { return shapes_[output_shapes_[nodes_[e.node].first_output + e.slot]]; }

  /// Attrs as written, before validate.
  std::span<const Attrs::Entry> written_attrs(NodeId id) const;

  // --- building: load, validate and transformations (see graph.cpp for the invariants) ---

  /// What nodes, edges, attrs, types and shapes take of the heap, about; a few multiplications.
  int64_t heap_bytes() const;

  /// The id of a text for Node::op and Node::device; the text is copied if it is new.
  uint32_t intern(std::string_view text) { return texts_.intern(text); }
  /// A copy of `text` that lives as long as the graph.
  std::string_view keep(std::string_view text) { return texts_.keep(text); }
  /// Makes find() know node `id` by its name. Returns the node that has the name already, else `id`.
  NodeId index_name(NodeId id);

  std::vector<Node> nodes_;
  std::vector<Endpoint> edges_;
  TextTable texts_;
  std::deque<std::vector<Attrs::Entry>> attr_sets_;  // id 0: no attrs
  std::deque<AttrValue> attr_values_;                // owns what attr sets and types point to
  std::deque<NodeType> types_;
  NodeTypeLists type_lists_;
  std::vector<uint32_t> output_shapes_;  // per output: index into shapes_
  std::deque<Shape> shapes_;             // distinct shapes; 0: unknown
  std::vector<Literal> literals_;
  NameIndex name_index_;  // node names
  std::shared_ptr<const Source> source_;
};

/// Who reads what: the edges of a graph by source. Built once by whoever needs it.
class Consumers {
 public:
  struct Edge {
    NodeId node;    // the consumer
    int32_t input;  // its input slot, -1: control
    uint32_t slot;  // output slot of the source (0 for control)
  };
  explicit Consumers(const Graph& g);
  /// By consumer id, then input slot; control edges after the data edges of a consumer.
  std::span<const Edge> of(NodeId id) const { return {edges_.data() + first_[id], first_[id + 1] - first_[id]}; }

 private:
  std::vector<uint32_t> first_;
  std::vector<Edge> edges_;
};

}  // namespace emplace
