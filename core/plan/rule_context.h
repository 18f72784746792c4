/// RuleContext: what a shape rule sees when shapes are those of a run: before it, as far as they are settled, and in
/// it.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/op/of_run.h"
#include "core/op/shape_context.h"

namespace emplace {

class RuleContext final : public ShapeContext, public OfRun {
 public:
  struct Input {
    const Shape* shape = nullptr;
    const Tensor* value = nullptr;  // null: not known
    const HandleInfo* handle = nullptr;
  };

  /// For one call of a node's rule; the inputs are set before it.
  void begin(const NodeType& type);

  int num_inputs() const override { return static_cast<int>(inputs.size()); }
  const Shape& input(int i) const override { return *inputs[static_cast<size_t>(i)].shape; }
  DType input_type(int i) const override { return base_type(type_->input_types[static_cast<size_t>(i)]); }
  const Tensor* input_value(int i) const override { return inputs[static_cast<size_t>(i)].value; }
  Shape input_as_shape(int i) const override;
  const Attrs& attrs() const override { return attrs_; }
  int num_outputs() const override { return static_cast<int>(outputs.size()); }
  DType output_type(int i) const override { return type_->output_types[static_cast<size_t>(i)]; }
  void set_output(int i, Shape shape) override { outputs[static_cast<size_t>(i)] = std::move(shape); }
  const HandleInfo* input_handle(int i) const override { return inputs[static_cast<size_t>(i)].handle; }
  void set_output_handle(int i, HandleInfo info) override;

  std::vector<Input> inputs;
  std::vector<Shape> outputs;  // unknown where the rule leaves them open
  std::vector<std::pair<int, HandleInfo>> handles;

 private:
  const NodeType* type_ = nullptr;
  Attrs attrs_;
};

}  // namespace emplace
