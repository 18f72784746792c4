/// OnnxBlock: one node of ONNX on its way to the TensorFlow nodes that compute the same: its inputs and attributes,
/// what is known of their types, shapes and values, and makers of nodes, whose names begin with the node's own.
///
/// After fail() every maker makes nothing, and everything that is asked has a harmless answer: a translator need not
/// look at each step.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/onnx/frame.h"

namespace emplace {

using OnnxAttrs = std::vector<std::pair<std::string, AttrValue>>;
using Ints = std::vector<int64_t>;

class OnnxBlock {
 public:
  OnnxBlock(OnnxFrame& frame, const OnnxNode& node, const OnnxOpsets& opsets, std::string prefix);

  // --- the node ---

  const OnnxNode& node() const { return node_; }
  OnnxFrame& frame() { return frame_; }
  GraphEditor& edit() { return frame_.body().edit(); }
  /// Of its operator set.
  int64_t version() const { return version_; }
  const OnnxOpsets& opsets() const { return opsets_; }
  const std::string& prefix() const { return prefix_; }
  size_t num_inputs() const { return node_.inputs.size(); }
  size_t num_outputs() const { return node_.outputs.size(); }
  bool has(size_t input) const { return input < node_.inputs.size() && !node_.inputs[input].empty(); }
  bool wants(size_t output) const { return output < node_.outputs.size() && !node_.outputs[output].empty(); }
  Endpoint input(size_t i);
  Endpoint input_or(size_t i, Endpoint otherwise) { return has(i) ? input(i) : otherwise; }
  Endpoints inputs(size_t from = 0);

  /// An input that is a sequence; the output that is one.
  Endpoints sequence(size_t input);
  void make_sequence(Endpoints tensors);

  const OnnxAttribute* attribute(std::string_view name, OnnxAttributeType type);
  bool has_attribute(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise);
  float number(std::string_view name, float otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::optional<Ints> integers(std::string_view name);
  Ints integers(std::string_view name, Ints otherwise);
  std::optional<Tensor> tensor(std::string_view name);
  /// Of an axis, counted from the end if negative. Out of range: fails.
  int axis(int64_t axis, int rank);

  // --- what is known ---

  DType type(Endpoint e) { return edit().type(e); }
  const Shape& shape(Endpoint e) { return edit().shape(e); }
  /// Fails where it is not known, and is 0.
  int rank(Endpoint e);
  /// -1: not known.
  int64_t dim(Endpoint e, int axis);
  bool has_shape(Endpoint e) { return shape(e).fully_known(); }
  const Tensor* value(Endpoint e);
  std::optional<Ints> known(Endpoint e);
  /// Fails where they are not known before the run.
  Ints wanted(Endpoint e, std::string_view what);
  /// An attribute's numbers, which newer versions have as an input.
  std::optional<Ints> numbers(std::string_view attribute, size_t input);

  // --- what goes wrong ---

  Endpoint fail(std::string_view message, std::string hint = {});
  /// The problem was told by somebody else.
  void stop() { failed_ = true; }
  bool failed() const { return failed_; }

  // --- making nodes ---

  Endpoint make(std::string_view op, Endpoints inputs, OnnxAttrs attrs = {});
  Endpoints make_many(std::string_view op, Endpoints inputs, size_t outputs, OnnxAttrs attrs = {});
  /// The same, in a wider type where the op has no kernel for the type of its first input: the result is cast back if
  /// the op's result has the type of what it reads.
  Endpoint math(std::string_view op, Endpoints inputs, OnnxAttrs attrs = {});
  Endpoint constant(Tensor value);
  Endpoint scalar(DType type, double value);
  /// A scalar of e's type.
  Endpoint like(Endpoint e, double value) { return scalar(type(e), value); }
  Endpoint ints(const Ints& values);    // int64, a vector
  Endpoint ints32(const Ints& values);  // int32
  Endpoint int32(int64_t value);        // a scalar
  Endpoint int64(int64_t value);
  Endpoint cast(Endpoint e, DType to);

  Endpoint add(Endpoint a, Endpoint b) { return math("AddV2", {a, b}); }
  Endpoint sub(Endpoint a, Endpoint b) { return math("Sub", {a, b}); }
  Endpoint mul(Endpoint a, Endpoint b) { return math("Mul", {a, b}); }
  Endpoint div(Endpoint a, Endpoint b);
  Endpoint reshape(Endpoint e, const Ints& dims);
  Endpoint reshape_to(Endpoint e, Endpoint dims) { return make("Reshape", {e, dims}); }
  Endpoint transpose(Endpoint e, const Ints& perm);
  Endpoint expand(Endpoint e, int64_t axis) { return make("ExpandDims", {e, int32(axis)}); }
  Endpoint squeeze(Endpoint e, const Ints& axes);
  /// e[begin:end] along one axis; `end` may be past the end.
  Endpoint slice(Endpoint e, int axis, int64_t begin, int64_t end, int64_t step = 1);
  Endpoint concat(const Endpoints& parts, int64_t axis);
  Endpoint reduce(std::string_view op, Endpoint e, const Ints& axes, bool keep = true);
  /// The shape as int64: a constant where it is known.
  Endpoint shape_of(Endpoint e);
  /// One size of it, a vector of one element.
  Endpoint dim_of(Endpoint e, int axis);
  Endpoint select(Endpoint condition, Endpoint a, Endpoint b) { return make("SelectV2", {condition, a, b}); }
  Endpoint broadcast(Endpoint e, Endpoint shape) { return make("BroadcastTo", {e, shape}); }
  /// A vector of e's channels (axis 1) in a shape that fits it: [C,1,1...].
  Endpoint per_channel(Endpoint vector, int rank, int axis = 1);

 private:
  OnnxFrame& frame_;
  const OnnxNode& node_;
  const OnnxOpsets& opsets_;
  int64_t version_;
  std::string prefix_;
  bool failed_ = false;
};

inline AttrValue attr_of(bool v) { return AttrValue::of(v); }
inline AttrValue attr_of(DType v) { return AttrValue::of(v); }
inline AttrValue attr_of(int64_t v) { return AttrValue::of(v); }
inline AttrValue attr_of(float v) { return AttrValue::of(v); }
inline AttrValue attr_of(const char* v) { return AttrValue::of(std::string(v)); }
inline AttrValue attr_of(std::string v) { return AttrValue::of(std::move(v)); }
inline AttrValue attr_of(Ints v) { return AttrValue::list_of(AttrKind::kInt, std::move(v)); }

}  // namespace emplace
