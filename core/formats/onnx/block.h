/// OnnxBlock: a node of ONNX on its way to the TensorFlow nodes that compute the same: what OnnxNodeView knows of it,
/// and makers of nodes, whose names begin with the node's own. After fail() every maker makes nothing.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/onnx/node_view.h"

namespace emplace {

struct OnnxAttr {
  const char* name;
  AttrValue value;
};

/// Attrs of a node to be made. Nothing is inline: hundreds of translations make such lists, and none is hot.
class OnnxAttrs {
 public:
  OnnxAttrs();
  OnnxAttrs(std::initializer_list<OnnxAttr> attrs);
  OnnxAttrs(const OnnxAttrs& other);
  OnnxAttrs(OnnxAttrs&& other) noexcept;
  ~OnnxAttrs();
  void add(const char* name, AttrValue value);
  std::vector<std::pair<std::string, AttrValue>> take() { return std::move(attrs_); }

 private:
  std::vector<std::pair<std::string, AttrValue>> attrs_;
};

/// Numbers written out, or those of a vector, for as long as a call takes.
class IntList : public std::span<const int64_t> {
 public:
  IntList(std::initializer_list<int64_t> values) : span(values.begin(), values.size()) {}  // NOLINT: meant to convert
  IntList(const Ints& values) : span(values) {}                                            // NOLINT: meant to convert
};

class OnnxBlock : public OnnxNodeView {
 public:
  OnnxBlock(OnnxFrame& frame, const OnnxNode& node, const OnnxOpsets& opsets, std::string prefix)
      : OnnxNodeView(frame, node, opsets), prefix_(std::move(prefix)) {}

  GraphEditor& edit() { return frame().body().edit(); }
  const std::string& prefix() const { return prefix_; }

  Endpoint make(std::string_view op, Endpoints inputs, OnnxAttrs attrs = {});
  Endpoint make(std::string_view op, std::initializer_list<Endpoint> inputs);
  Endpoint make(std::string_view op, std::initializer_list<Endpoint> inputs, std::initializer_list<OnnxAttr> attrs);
  Endpoints make_many(std::string_view op, Endpoints inputs, size_t outputs, OnnxAttrs attrs = {});
  /// The same, in a wider type where the op has no kernel for the type of its first input: the result is cast back if
  /// the op's result has the type of what it reads.
  Endpoint math(std::string_view op, Endpoints inputs, OnnxAttrs attrs = {});
  Endpoint math(std::string_view op, std::initializer_list<Endpoint> inputs);
  Endpoint math(std::string_view op, std::initializer_list<Endpoint> inputs, std::initializer_list<OnnxAttr> attrs);
  Endpoint constant(Tensor value);
  Endpoint scalar(DType type, double value);
  /// A scalar of e's type.
  Endpoint like(Endpoint e, double value) { return scalar(type(e), value); }
  Endpoint ints(IntList values);    // int64, a vector
  Endpoint ints32(IntList values);  // int32
  Endpoint int32(int64_t value);    // a scalar
  Endpoint int64(int64_t value);
  Endpoint cast(Endpoint e, DType to);

  Endpoint add(Endpoint a, Endpoint b);
  Endpoint sub(Endpoint a, Endpoint b);
  Endpoint mul(Endpoint a, Endpoint b);
  Endpoint div(Endpoint a, Endpoint b);
  Endpoint reshape(Endpoint e, IntList dims);
  Endpoint reshape_to(Endpoint e, Endpoint dims);
  Endpoint transpose(Endpoint e, IntList perm);
  Endpoint expand(Endpoint e, int64_t axis);
  Endpoint squeeze(Endpoint e, IntList axes);
  /// e[begin:end] along one axis; `end` may be past the end.
  Endpoint slice(Endpoint e, int axis, int64_t begin, int64_t end, int64_t step = 1);
  Endpoint concat(const Endpoints& parts, int64_t axis);
  Endpoint concat(std::initializer_list<Endpoint> parts, int64_t axis);
  Endpoint reduce(std::string_view op, Endpoint e, IntList axes, bool keep = true);
  /// The shape as int64: a constant where it is known.
  Endpoint shape_of(Endpoint e);
  /// One size of it, a vector of one element.
  Endpoint dim_of(Endpoint e, int axis);
  Endpoint select(Endpoint condition, Endpoint a, Endpoint b);
  Endpoint broadcast(Endpoint e, Endpoint shape);
  /// A vector of e's channels (axis 1) in a shape that fits it: [C,1,1...].
  Endpoint per_channel(Endpoint vector, int rank, int axis = 1);
  /// An output that is a sequence.
  void make_sequence(OnnxSequence sequence, size_t output = 0);

 private:
  const std::string prefix_;
};

AttrValue attr_of(bool v);
AttrValue attr_of(DType v);
AttrValue attr_of(int64_t v);
AttrValue attr_of(float v);
AttrValue attr_of(const char* v);
AttrValue attr_of(std::string v);
AttrValue attr_of(Ints v);

}  // namespace emplace
