/// KnownShapeContext: a shape rule's view of a node whose input tensors are all there: in a run, or when a constant
/// is computed ahead of one.
#pragma once

#include <span>
#include <vector>

#include "core/op/shape_context.h"
#include "core/tensor/tensor.h"

namespace emplace {

class KnownShapeContext final : public ShapeContext {
 public:
  KnownShapeContext(std::span<const Tensor> inputs, Attrs attrs, std::span<const DType> output_types)
      : inputs_(inputs), attrs_(attrs), output_types_(output_types), outputs_(output_types.size(), Shape::unknown()) {}

  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  const Shape& input(int i) const override { return inputs_[static_cast<size_t>(i)].shape(); }
  DType input_type(int i) const override { return inputs_[static_cast<size_t>(i)].dtype(); }
  const Tensor* input_value(int i) const override { return &inputs_[static_cast<size_t>(i)]; }
  Shape input_as_shape(int i) const override { return values_as_shape(inputs_[static_cast<size_t>(i)]); }
  const Attrs& attrs() const override { return attrs_; }
  int num_outputs() const override { return static_cast<int>(output_types_.size()); }
  DType output_type(int i) const override { return output_types_[static_cast<size_t>(i)]; }
  void set_output(int i, Shape shape) override { outputs_[static_cast<size_t>(i)] = std::move(shape); }

  /// Unknown where the rule leaves it to the kernel.
  const std::vector<Shape>& outputs() const { return outputs_; }

 private:
  std::span<const Tensor> inputs_;
  Attrs attrs_;
  std::span<const DType> output_types_;
  std::vector<Shape> outputs_;
};

}  // namespace emplace
