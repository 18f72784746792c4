/// NodeGradient: the GradientContext of one forward node, over a GraphEditor.
#pragma once

#include <string>
#include <vector>

#include "core/base/cat.h"
#include "core/graph/graph_editor.h"
#include "core/op/gradient_context.h"

namespace emplace {

/// A gradient on its way: a tensor, or slices of one (TensorFlow's IndexedSlices).
struct PartialGradient {
  Value values;
  Value indices, dense_shape;  // of slices only
  bool is_slices() const { return indices.valid(); }
  bool valid() const { return values.valid(); }
};

class LoopGradient;

class NodeGradient final : public GradientContext {
 public:
  /// Nodes get names below `scope` and are colocated with `node` if `colocate`. `arrived`: by output.
  NodeGradient(GraphEditor& edit, NodeId node, bool colocate)
      : edit_(edit),
        node_(node),
        colocate_(colocate),
        attrs_(edit.graph().attrs(node)),
        first_(edit.graph().num_nodes()) {}

  const std::string& scope() const { return scope_; }
  NodeId id() const { return node_; }
  bool colocates() const { return colocate_; }
  /// Nodes are added to this loop; null: outside of all loops.
  void set_loop(LoopGradient* loop) { loop_ = loop; }
  LoopGradient* loop() const { return loop_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  void set_source(std::string source) { source_ = std::move(source); }
  void set_arrived(std::vector<PartialGradient> arrived, std::vector<bool> zeros) {
    arrived_ = std::move(arrived);
    zeros_ = std::move(zeros);
    results_.assign(static_cast<size_t>(num_inputs()), {});
  }
  const PartialGradient& arrived(size_t i) const { return arrived_[i]; }
  std::vector<PartialGradient>& results() { return results_; }

  std::string_view op() const override { return edit_.graph().op(node_); }
  int num_inputs() const override { return static_cast<int>(edit_.graph().node(node_).num_inputs); }
  Value input(int i) const override {
    Endpoint e = edit_.graph().inputs(node_)[static_cast<size_t>(i)];
    return {e.node, e.slot};
  }
  Value output(int i) const override { return {node_, static_cast<uint32_t>(i)}; }
  const Attrs& attrs() const override { return attrs_; }
  Value grad(int i) override;
  std::string source() const override { return source_; }
  bool grad_is_zero(int i) const override { return zeros_[static_cast<size_t>(i)]; }

  const Graph& graph() const { return edit_.graph(); }
  DType type(Value v) const override { return base_type(edit_.type({v.node, v.slot})); }
  const Shape& shape(Value v) const override { return edit_.shape({v.node, v.slot}); }
  const Tensor* value(Value v) override { return edit_.value({v.node, v.slot}); }

  Value add(std::string_view op, const std::vector<Value>& inputs, AttrList attrs, std::string_view name) override;
  Value constant(Tensor value, std::string_view name) override;
  void wait_for(Value v) override;
  Result<std::vector<Value>> tape_gradient(const std::vector<Value>& targets, const std::vector<Value>& sources,
                                           const std::vector<Value>& seeds) override;

  void set(int i, Value gradient) override { results_[static_cast<size_t>(i)] = {gradient, {}, {}}; }
  void set_slices(int i, Value values, Value indices, Value dense_shape) override {
    results_[static_cast<size_t>(i)] = {values, indices, dense_shape};
  }
  void pass_on(int output, int i) override { results_[static_cast<size_t>(i)] = arrived_[static_cast<size_t>(output)]; }
  Status status() const override { return edit_.status(); }

  /// The sum of tensors: those that ask for one device are added up there, colocated with the first of them.
  Value add_by_device(const std::vector<Value>& tensors);

  /// Slices as a tensor.
  Value densify(const PartialGradient& gradient) {
    return gradient.is_slices() ? dense(gradient.values, gradient.indices, gradient.dense_shape) : gradient.values;
  }

 private:
  std::string in_scope(std::string_view name) const {
    return scope_.empty() ? std::string(name) : cat(scope_, "/", name);
  }
  Value add_at(std::string_view op, const std::vector<Value>& inputs, AttrList attrs, std::string_view name,
               std::vector<NodeId> colocate_with);

  GraphEditor& edit_;
  NodeId node_;
  bool colocate_;
  LoopGradient* loop_ = nullptr;
  Attrs attrs_;
  NodeId first_;  // what is built here begins with it
  std::string scope_, source_;
  std::vector<PartialGradient> arrived_, results_;
  std::vector<bool> zeros_;
  NodeId waits_for_ = kNoNode;
  std::vector<NodeId> after_;  // what was built since wait_for()
};

}  // namespace emplace
