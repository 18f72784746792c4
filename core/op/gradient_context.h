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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/shape.h"
#include "core/base/status.h"
#include "core/op/attr_value.h"

namespace emplace {

/// A tensor of the graph: output `slot` of a node.
struct Value {
  uint32_t node = ~uint32_t{0};
  uint32_t slot = 0;
  /// False: there is none (no gradient), or it could not be built (then status() says why).
  bool valid() const { return node != ~uint32_t{0}; }
  /// Another output of the same node.
  Value output(uint32_t other) const { return {node, valid() ? other : 0}; }
  bool operator==(const Value&) const = default;
};

class GradientContext {
 public:
  using AttrList = std::vector<std::pair<std::string, AttrValue>>;
  virtual ~GradientContext() = default;

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

  // --- what is known before the run, also of what was just built ---

  virtual DType type(Value v) const = 0;
  virtual const Shape& shape(Value v) const = 0;
  /// Null if it is not known.
  virtual const Tensor* value(Value v) = 0;

  // --- building; an input that is no value makes none ---

  /// Output 0 of a new node. What the inputs tell about attrs may be left out. Empty name: the op's.
  virtual Value add(std::string_view op, const std::vector<Value>& inputs, AttrList attrs = {},
                    std::string_view name = {}) = 0;
  virtual Value constant(Tensor value, std::string_view name = "Const") = 0;
  /// What is built from here on waits for `v`, unless it depends on it anyway (with tf.control_dependencies). Not a
  /// value: nothing waits any more.
  virtual void wait_for(Value v) = 0;

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
  /// What went wrong in building.
  virtual Status status() const = 0;

  // Helpers, all in terms of the above (core/op/gradient_context.cpp). Named as TensorFlow's Python functions.

  Value scalar(DType type, double number, std::string_view name = "Const");
  Value ints(const std::vector<int64_t>& values, std::string_view name = "Const", DType type = DType::kInt32);
  /// A scalar int32 (or int64).
  Value index(int64_t number, std::string_view name = "Const", DType type = DType::kInt32);
  /// The shape as a vector: a constant where it is known.
  Value shape_of(Value v, DType type = DType::kInt32);
  Value rank_of(Value v);
  Value size_of(Value v);
  Value zeros_like(Value v);
  Value ones(Value dims, DType type) { return add("Fill", {dims, scalar(type, 1, "ones/Const")}, {}, "ones"); }
  /// 0, 1, ..., rank - 1
  Value all_axes(Value v);
  Value cast(Value v, DType type);
  Value reshape(Value v, Value shape) { return add("Reshape", {v, shape}); }
  Value reshape(Value v, const std::vector<int64_t>& shape);
  Value expand_dims(Value v, int64_t axis);
  Value concat(const std::vector<Value>& parts);  // of vectors
  Value pack(const std::vector<Value>& parts, int64_t axis = 0);
  Value gather(Value params, Value indices, int64_t axis = 0);
  /// v[begin:end] of a vector; a missing end means all the rest.
  Value slice(Value v, int64_t begin, std::optional<int64_t> end = std::nullopt);
  Value element(Value v, int64_t at);  // v[at]
  Value transpose(Value v, Value permutation) { return add("Transpose", {v, permutation}, {}, "transpose"); }
  Value range(Value start, Value limit, Value delta) { return add("Range", {start, limit, delta}, {}, "range"); }
  Value sum(Value v, Value axes, bool keep_dims = false);
  Value mul(Value a, Value b) { return add("Mul", {a, b}, {}, "mul"); }
  Value neg(Value v) { return add("Neg", {v}); }
  /// The shape of a reduction's input with the reduced dimensions 1 (math_ops.reduced_shape).
  Value reduced_shape(Value input_shape, Value axes);
  /// Sums what broadcasting spread: the gradients `gx`, `gy` of a binary op's result in the shapes of x and y. Nothing
  /// is built where static shapes say that nothing was spread.
  std::pair<Value, Value> reduce_to(Value x, Value y, Value gx, Value gy);
  /// The same for a binary op whose inputs are its first two.
  void set_binary(Value gx, Value gy);
  /// Copies these attrs of the forward node.
  AttrList copy_attrs(std::initializer_list<std::string_view> names) const;
  /// dense_shape[0] rows, each the sum of the slices with its index.
  Value dense(Value slices, Value indices, Value dense_shape);
};

/// dx = dy of output 0, for ops that change nothing in their first input.
Status identity_gradient(GradientContext& g);
/// The gradient is reshaped to input 0 (Reshape, ExpandDims, Squeeze).
Status reshape_gradient(GradientContext& g);

}  // namespace emplace
