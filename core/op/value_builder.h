/// ValueBuilder: makes nodes and hands around their outputs, as gradient functions do. What it asks of the graph is
/// virtual (core/train/gradient_node.h does it); everything else is put together from that.
#pragma once

#include <optional>
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

class ValueBuilder {
 public:
  using AttrList = std::vector<std::pair<std::string, AttrValue>>;
  virtual ~ValueBuilder() = default;

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

  /// What went wrong in building.
  virtual Status status() const = 0;

  // --- in terms of the above; named as TensorFlow's Python functions ---

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
  /// dense_shape[0] rows, each the sum of the slices with its index.
  Value dense(Value slices, Value indices, Value dense_shape);
};

}  // namespace emplace
