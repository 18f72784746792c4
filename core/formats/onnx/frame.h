/// Where the names of an ONNX graph lead while its nodes become TensorFlow's: OnnxBody, the graph that is made, and
/// OnnxFrame, the names of one scope in it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/onnx/model.h"
#include "core/graph/graph_editor.h"

namespace emplace {

using Endpoints = std::vector<Endpoint>;

/// What all of a model's translation shares.
struct OnnxTranslation {
  WireContext& w;
  GraphFile& file;  // the model's; functions go into its library
  const OnnxModel& model;
  int depth = 0;  // graphs and functions inside each other
};

/// Which images have a twin with their channels last (core/formats/onnx/layout.h), by node and output.
struct OnnxLayouts {
  std::map<std::pair<NodeId, uint32_t>, Endpoint> last;
  std::set<std::pair<NodeId, uint32_t>> turned;  // made of such a twin
  Endpoint to_last, to_first;                    // the orders of dimensions, constants that all share
};

class OnnxBlock;

/// A sequence: the list of its tensors, or, where only the run knows how long it is, a TensorList. An optional tensor
/// is a sequence of at most one.
struct OnnxSequence {
  Endpoints tensors = {};            // where there is no list
  Endpoint list = {};                // a variant
  DType type = DType::kInvalid;      // of its tensors; kInvalid: there is none
  Shape element = Shape::unknown();  // as far as it is known of them
  Endpoint given = {};               // of an optional sequence: is there one? Else kNoNode
  bool optional_tensor = false;

  bool is_list() const { return list.node != kNoNode; }
};

/// What a name stands for.
struct OnnxValue {
  Endpoint tensor = {};
  std::optional<OnnxSequence> sequence = {};

  bool known() const { return sequence || tensor.node != kNoNode; }
};

/// Bytes that stand for reals.
struct OnnxByteView {
  Endpoint bytes, scale, zero;
  int axis = -1;  // along which they have scales of their own; below 0: one scale for all
};

/// Which reals were made of bytes, and which are products of such reals: where these become bytes again, the bytes
/// themselves are multiplied (core/formats/onnx/byte_products.h). By node and output.
struct OnnxByteViews {
  using Requantise = std::function<std::optional<Endpoint>(OnnxBlock&, Endpoint scale, Endpoint zero)>;
  std::map<std::pair<NodeId, uint32_t>, OnnxByteView> reals;
  std::map<std::pair<NodeId, uint32_t>, Requantise> products;

  const OnnxByteView* find(Endpoint e) const {
    const auto at = reals.find({e.node, e.slot});
    return at == reals.end() ? nullptr : &at->second;
  }
};

/// A graph in the making: the model's own, or the body of a function.
class OnnxBody {
 public:
  explicit OnnxBody(GraphFile& file) : file_(file), edit_(file) {}

  GraphEditor& edit() { return edit_; }
  GraphFile& file() { return file_; }

  /// `wanted`, with what node names lack replaced, or the first of wanted_1, ... that is free. Names of tensors are
  /// kept free for them.
  std::string free_name(std::string_view wanted) const;
  void reserve(std::string name) { reserved_.insert(std::move(name)); }
  /// The tensor's own name may be taken by its node.
  void release(const std::string& name) { reserved_.erase(name); }
  /// What new nodes' problems point at.
  void set_position(int64_t position) { position_ = position; }
  int64_t position() const { return position_; }
  NodeId add(NewNode node);
  OnnxLayouts& layouts() { return layouts_; }
  OnnxByteViews& byte_views() { return byte_views_; }

  // --- of a function's body ---

  /// An _Arg of the next index.
  Endpoint argument(DType type, const Shape& shape);
  /// Tensors around the body that it reads: arguments behind all others. Bodies that are called alike share the list.
  void share_captures(std::vector<Endpoint>& captures) { captures_ = &captures; }
  Endpoint capture(Endpoint outer, OnnxBody& around);
  /// Arguments for what only the other bodies read.
  void complete_captures(OnnxBody& around);
  /// After that: the arguments of all captures; and all arguments, those last.
  Endpoints captured() const;
  Endpoints arguments() const;

 private:
  Endpoint add_argument(int64_t index, DType type, const Shape& shape);

  GraphFile& file_;
  GraphEditor edit_;
  std::set<std::string, std::less<>> reserved_;
  mutable std::map<std::string, int, std::less<>> asked_;
  int64_t position_ = kNoPosition;
  OnnxLayouts layouts_;
  OnnxByteViews byte_views_;
  Endpoints arguments_;
  std::vector<Endpoint>* captures_ = nullptr;
  std::map<size_t, Endpoint> captured_;  // by place in captures_
};

class OnnxFrame {
 public:
  /// `around`: the frame whose names a graph inside a node may use too; null: none. Nodes' names begin with `prefix`.
  OnnxFrame(OnnxTranslation& all, OnnxBody& body, OnnxFrame* around, std::string prefix)
      : all_(all), body_(body), around_(around), prefix_(std::move(prefix)) {}

  OnnxTranslation& all() { return all_; }
  OnnxBody& body() { return body_; }
  const std::string& prefix() const { return prefix_; }

  void declare(const std::vector<OnnxInitializer>& initializers);
  bool is_initializer(std::string_view name) const { return initializers_.contains(name); }
  void bind(std::string_view name, Endpoint tensor) { tensors_[name] = tensor; }
  /// A node makes it. False: another one did.
  bool make(std::string_view name) { return made_.insert(name).second; }
  /// kNoNode: there is no such tensor here, or a problem was told.
  Endpoint find(std::string_view name);
  void bind_sequence(std::string_view name, OnnxSequence s) { sequences_[name] = std::move(s); }
  /// Null: the name stands for no sequence.
  const OnnxSequence* find_sequence(std::string_view name);
  void bind_value(std::string_view name, OnnxValue value);
  OnnxValue find_value(std::string_view name);
  /// The keys of a map, or of a sequence of maps, whose values are the tensor of that name. kNoNode: it is none.
  void bind_keys(std::string_view name, Endpoint keys) { keys_[name] = keys; }
  Endpoint find_keys(std::string_view name) const;
  /// What the file says of a value that it names.
  void note(const std::vector<OnnxValueInfo>& infos);
  const OnnxValueInfo* info(std::string_view name) const;

 private:
  Endpoint make_initializer(std::string_view name, std::string_view message);

  OnnxTranslation& all_;
  OnnxBody& body_;
  OnnxFrame* around_;
  std::string prefix_;
  std::map<std::string_view, Endpoint> tensors_, keys_;
  std::map<std::string_view, std::string_view> initializers_;
  std::map<std::string_view, OnnxValueInfo> infos_;
  std::map<std::string_view, OnnxSequence> sequences_;
  std::set<std::string_view> made_;  // by nodes
};

/// As node names are: what they lack becomes '_'.
std::string onnx_node_name(std::string_view name);

/// False, and a problem for each op that is not known, where it first stands.
bool check_onnx_ops(OnnxTranslation& all, const std::vector<OnnxNode>& nodes, const OnnxOpsets& opsets);

/// Adds the nodes. False, and a problem told, if one could not be translated.
bool translate_onnx_nodes(OnnxFrame& frame, const std::vector<OnnxNode>& nodes, const OnnxOpsets& opsets);

}  // namespace emplace
