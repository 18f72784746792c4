/// ShapePass: the shapes of all outputs, by the shape rules of the ops, in node order.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/constant_values.h"
#include "core/graph/graph.h"
#include "core/graph/source.h"

namespace emplace {

/// What a rule sees of one node; made once, pointed at one node after the other.
class NodeShapeContext;

class ShapePass {
 public:
  /// REQUIRES: TypePass ran.
  ShapePass(Graph& graph, Problems& problems);
  ~ShapePass();

  /// Sets Graph::output_shapes_ and shapes_. A node that its rule refuses is a problem; its shapes stay unknown, as
  /// do those of ops without a rule.
  /// `before_node`, if given, is called for each node before its shapes are inferred, and may change its attrs' values.
  void run(const std::function<void(NodeId)>& before_node = nullptr);
  /// After run(): the same for a node that was added behind all others and has its type.
  void add(NodeId id);
  /// After run(): the shape of an output, known from elsewhere. What reads it keeps its shapes.
  void set(Endpoint output, const Shape& shape);
  /// The shapes of a node's outputs again, from those that its inputs have now. False, and the shapes from before, if
  /// its rule refuses them.
  bool again(NodeId id);

  /// What is known about values.
  ConstantValues& values() { return values_; }

 private:
  friend class NodeShapeContext;
  // Nodes of one type whose inputs have the same shapes have the same output shapes, unless the rule looked at values.
  struct Known {
    uint64_t hash = 0;
    uint32_t type = 0;
    uint32_t first = 0;  // in ids_: the shapes of the inputs, then of the outputs
    bool used = false;
    bool by_value = false;
  };

  struct TypeFacts {  // of a node type
    enum class Rule : uint8_t { kNotLookedAt, kNone, kThere };
    const NodeType* type = nullptr;
    uint32_t num_outputs = 0;
    Rule rule = Rule::kNotLookedAt;
  };

  bool infer(NodeId id, bool report_refusal = true);
  bool has_rule(uint32_t type);
  Known& find_known(uint32_t type);
  void grow();
  uint32_t intern(const Shape& shape);
  uint32_t input_shape(NodeId id, const Endpoint& e) const;
  void report(NodeId id, const Status& status, const NodeShapeContext& context);

  struct ShapeHash {
    using is_transparent = void;
    const Graph* graph;
    size_t operator()(const Shape& s) const;
    size_t operator()(uint32_t id) const { return (*this)(graph->shapes_[id]); }
  };
  struct ShapeEqual {
    using is_transparent = void;
    const Graph* graph;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(const Shape& a, uint32_t b) const { return a == graph->shapes_[b]; }
    bool operator()(uint32_t a, const Shape& b) const { return b == graph->shapes_[a]; }
  };

  Graph& graph_;
  Problems& problems_;
  ConstantValues values_;
  std::unordered_map<uint64_t, HandleInfo> handles_;  // by endpoint
  std::unordered_set<uint32_t, ShapeHash, ShapeEqual> distinct_;
  std::vector<Known> known_;  // open addressing, a power of two, at most half full
  size_t num_known_ = 0;
  std::vector<uint32_t> ids_;
  std::vector<TypeFacts> types_;
  std::vector<uint32_t> in_ids_;  // of the node in work
  std::unique_ptr<NodeShapeContext> context_;
};

}  // namespace emplace
