/// GraphEditor: changes a validated graph: adds, copies, redirects, renames and removes nodes. What is added has its
/// type and shapes at once, so that who builds a graph can ask for them.
///
///     GraphEditor edit(file);
///     NodeId square = edit.add({.name = "train/Square", .op = "Square", .inputs = {x}});
///     edit.add_control(update, square);
///     edit.finish(problems);
///
/// Until finish() every node keeps its id, and new ones get the next; finish() brings the nodes into TensorFlow's
/// order, validates everything anew and knows the ids from before. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"

namespace emplace {

struct NewNode {
  std::string name = {};  // wanted; unique_name() makes the one it gets
  std::string op = {};
  std::vector<Endpoint> inputs = {};
  std::vector<std::pair<std::string, AttrValue>> attrs = {};  // what the inputs tell, and defaults, may be left out
  std::vector<NodeId> controls = {};                          // waits for these
  std::string device = {};
  /// As with tf.colocate_with(): the groups of these nodes (`_class`) are the new node's, and the last device that one
  /// of them asks for.
  std::vector<NodeId> colocate_with = {};
  bool has_own_name = false;  // `name` is what unique_name() made
};

class GraphEditor {
 public:
  /// REQUIRES: validate() found no problem in `file`, which outlives this. From here to finish() ids of nodes are
  /// stable, types and shapes of nodes that were there hold, and those of new nodes are in the graph too.
  explicit GraphEditor(GraphFile& file);
  ~GraphEditor();
  GraphEditor(const GraphEditor&) = delete;

  const Graph& graph() const { return graph_; }

  // --- what is known; also of kNoNode, of which nothing is ---

  DType type(Endpoint e) const;  // kInvalid: not known
  const Shape& shape(Endpoint e) const;
  /// Until finish(): the shape that an output has, where more is known than the ops tell; and the shapes of a node's
  /// outputs from those that its inputs have by then. False: they do not fit.
  void set_shape(Endpoint e, const Shape& shape) { shapes_->set(e, shape); }
  bool infer_again(NodeId node) { return shapes_->again(node); }
  /// Null if the value is not known before the run. Valid as long as this object.
  const Tensor* value(Endpoint e);

  // --- names ---

  /// TensorFlow's unique_name(): `name`, else `name_1`, `name_2`, ..., case ignored. For nodes and for name scopes:
  /// `cat(unique_name("gradients"), "/x")`. The name counts as taken from now on.
  std::string unique_name(std::string_view name);
  /// What unique_name() would make of it now.
  std::string next_name(std::string_view name) const;

  // --- adding; an input that is not a node makes no node, so a failure passes through; status() has the first one ---

  NodeId add(NewNode node);
  /// Output 0 of a new node.
  Endpoint add_output(NewNode node) { return {add(std::move(node)), 0}; }
  /// A Const.
  Endpoint constant(std::string name, Tensor value, std::vector<NodeId> colocate_with = {}, std::string device = {});
  /// Copies of `nodes`, in that order, each named `rename(name)`: a tower is `[](auto n) { return cat("tower_0/", n);
  /// }`. Edges among them connect the copies; the others come from where they came. `loc:@x` and the own name as
  /// `shared_name` follow the new names, and loops are loops of their own (`frame_name`). The names must be free.
  std::vector<NodeId> clone(std::span<const NodeId> nodes, const std::function<std::string(std::string_view)>& rename);

  // --- changing nodes; types and shapes of what reads them are those from before until finish() ---

  void set_input(NodeId node, uint32_t input, Endpoint source);
  void add_control(NodeId node, NodeId before);
  void set_device(NodeId node, std::string_view device);
  /// Adds or replaces.
  void set_attr(NodeId node, std::string_view name, AttrValue value);
  /// The new name must be free. `loc:@` names are not changed.
  void rename(NodeId node, std::string_view name);
  /// Nobody may read it at finish(); nodes that only wait for it no longer do.
  void remove(NodeId node);
  bool is_removed(NodeId node) const { return node < removed_.size() && removed_[node]; }
  /// It was removed, and stays after all.
  void restore(NodeId node) {
    if (node < removed_.size()) removed_[node] = false;
  }

  /// What went wrong in adding, first of all.
  const Status& status() const { return status_; }

  /// Puts the nodes in order and validates all of it; see validate() for the arguments. Nothing may be changed through
  /// this object afterwards.
  void finish(Problems& problems, Problems* contradictions = nullptr);
  /// After finish(): the id of a node that had `id` before. kNoNode for a removed one.
  NodeId new_id(NodeId id) const { return id == kNoNode ? kNoNode : new_ids_[id]; }
  Endpoint new_id(Endpoint e) const { return {new_id(e.node), e.slot}; }

 private:
  bool typed(Endpoint e) const;
  NodeId append(std::string_view name, uint32_t op, uint32_t device, uint32_t attr_set,
                std::span<const Endpoint> inputs, std::span<const Endpoint> controls);
  uint32_t add_attrs(std::vector<Attrs::Entry> attrs);
  Attrs::Entry attr(std::string_view name, AttrValue value);
  uint32_t cloned_attrs(NodeId node, std::string_view name,
                        const std::unordered_map<std::string_view, std::string>& names,
                        const std::function<std::string(std::string_view)>& rename);
  void take_name(std::string_view name);
  void fail(Status status);
  std::vector<NodeId> drop_removed(Problems& problems);
  bool put_in_order(Problems& problems);

  GraphFile& file_;
  Graph& graph_;
  Problems type_problems_, shape_problems_, ignored_attrs_;
  std::optional<TypePass> types_;
  std::optional<ShapePass> shapes_;
  std::unordered_map<std::string, uint32_t> names_;  // in lower case -> how often asked for
  std::vector<bool> removed_;                        // by node; short: the rest is not
  std::vector<NodeId> new_ids_;
  Status status_;
};

}  // namespace emplace
