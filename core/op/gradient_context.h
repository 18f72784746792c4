/// GradientContext: what an op's gradient function sees, and what it builds with. Written once per op, beside its
/// kernel, with graph ops, so it runs wherever they run.
///
///     Status relu_gradient(GradientContext& g) {
///       g.set(0, g.add("ReluGrad", {g.grad(0), g.output(0)}));
///       return g.status();
///     }
///
/// Names and structure are TensorFlow's (python/ops/*_grad.py): a node is named after its op unless a name is given,
/// and made unique within `gradients/<node>_grad/`.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/op/value_builder.h"

namespace emplace {

class GradientContext : public ValueBuilder {
 public:
  // --- the forward node ---

  virtual std::string_view op() const = 0;
  virtual int num_inputs() const = 0;
  virtual Value input(int i) const = 0;
  virtual Value output(int i) const = 0;
  virtual const Attrs& attrs() const = 0;
  /// What arrives at output `i`. If nothing does: zeros where another output got something and this one is of a
  /// differentiable type, else no value.
  virtual Value grad(int i) = 0;
  /// Which gradients() call this is: the name scope of its nodes.
  virtual std::string source() const = 0;
  /// Is grad(i) nothing but the zeros of an output that the loss does not depend on?
  virtual bool grad_is_zero(int i) const = 0;

  /// As tf.GradientTape in a gradient function: the gradients of the sum of `targets`, built here from `sources`, for
  /// these, by the gradient functions of what was built. `seeds`: what arrives at the targets. No value: no path.
  virtual Result<std::vector<Value>> tape_gradient(const std::vector<Value>& targets, const std::vector<Value>& sources,
                                                   const std::vector<Value>& seeds) = 0;

  // --- the results ---

  /// The gradient of input `i`; an input that is not set has none.
  virtual void set(int i, Value gradient) = 0;
  /// The gradient of input `i` in the form of TensorFlow's IndexedSlices: rows `indices` of a tensor of `dense_shape`
  /// get `values`, added up.
  virtual void set_slices(int i, Value values, Value indices, Value dense_shape) = 0;
  /// The gradient of input `i` is what arrived at output `output`, in whatever form it came.
  virtual void pass_on(int output, int i) = 0;
  /// The gradients of a binary op whose inputs are its first two: reduce_to() their shapes.
  void set_binary(Value gx, Value gy);
  /// Copies these attrs of the forward node.
  AttrList copy_attrs(std::initializer_list<std::string_view> names) const;
};

/// dx = dy of output 0, for ops that change nothing in their first input.
Status identity_gradient(GradientContext& g);
/// The gradient is reshaped to input 0 (Reshape, ExpandDims, Squeeze).
Status reshape_gradient(GradientContext& g);

}  // namespace emplace
