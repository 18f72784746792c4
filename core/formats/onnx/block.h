/// OnnxBlock: a node of ONNX on its way to the TensorFlow nodes that compute the same: what OnnxNodeView knows of it,
/// and makers of nodes, whose names begin with the node's own. After fail() every maker makes nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/onnx/node_view.h"

namespace emplace {

using OnnxAttrs = std::vector<std::pair<std::string, AttrValue>>;

class OnnxBlock : public OnnxNodeView {
 public:
  OnnxBlock(OnnxFrame& frame, const OnnxNode& node, const OnnxOpsets& opsets, std::string prefix)
      : OnnxNodeView(frame, node, opsets), prefix_(std::move(prefix)) {}

  GraphEditor& edit() { return frame().body().edit(); }
  const std::string& prefix() const { return prefix_; }

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
  /// The output, which is a sequence.
  void make_sequence(Endpoints tensors);

 private:
  const std::string prefix_;
};

inline AttrValue attr_of(bool v) { return AttrValue::of(v); }
inline AttrValue attr_of(DType v) { return AttrValue::of(v); }
inline AttrValue attr_of(int64_t v) { return AttrValue::of(v); }
inline AttrValue attr_of(float v) { return AttrValue::of(v); }
inline AttrValue attr_of(const char* v) { return AttrValue::of(std::string(v)); }
inline AttrValue attr_of(std::string v) { return AttrValue::of(std::move(v)); }
inline AttrValue attr_of(Ints v) { return AttrValue::list_of(AttrKind::kInt, std::move(v)); }

}  // namespace emplace
