/// OnnxNodeView: one node of ONNX, read: its inputs and attributes, and what is known of their types, shapes and
/// values.
///
/// After fail() everything that is asked has a harmless answer: a translator need not look at each step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/onnx/frame.h"

namespace emplace {

using Ints = std::vector<int64_t>;

class OnnxNodeView {
 public:
  OnnxNodeView(OnnxFrame& frame, const OnnxNode& node, const OnnxOpsets& opsets);

  // --- the node ---

  const OnnxNode& node() const { return node_; }
  OnnxFrame& frame() { return frame_; }
  /// Of its operator set.
  int64_t version() const { return version_; }
  const OnnxOpsets& opsets() const { return opsets_; }
  size_t num_inputs() const { return node_.inputs.size(); }
  size_t num_outputs() const { return node_.outputs.size(); }
  bool has(size_t input) const { return input < node_.inputs.size() && !node_.inputs[input].empty(); }
  bool wants(size_t output) const { return output < node_.outputs.size() && !node_.outputs[output].empty(); }
  Endpoint input(size_t i);
  Endpoint input_or(size_t i, Endpoint otherwise) { return has(i) ? input(i) : otherwise; }
  Endpoints inputs(size_t from = 0);

  /// An input that is a sequence.
  bool is_sequence(size_t input) { return has(input) && frame_.find_sequence(node_.inputs[input]); }
  OnnxSequence sequence(size_t input);

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

  DType type(Endpoint e) { return frame_.body().edit().type(e); }
  const Shape& shape(Endpoint e) { return frame_.body().edit().shape(e); }
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

 private:
  OnnxFrame& frame_;
  const OnnxNode& node_;
  const OnnxOpsets& opsets_;
  int64_t version_;
  bool failed_ = false;
};

}  // namespace emplace
