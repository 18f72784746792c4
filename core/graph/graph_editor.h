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
#include <utility>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/graph/live_types.h"
#include "core/graph/unique_names.h"

namespace emplace {

struct NewNode {
  std::string name = {};  // wanted; names().unique() makes the one it gets
  std::string op = {};
  std::vector<Endpoint> inputs = {};
  std::vector<std::pair<std::string, AttrValue>> attrs = {};  // what the inputs tell, and defaults, may be left out
  std::vector<NodeId> controls = {};                          // waits for these
  std::string device = {};
  /// As with tf.colocate_with(): the groups of these nodes (`_class`) are the new node's, and the last device that one
  /// of them asks for.
  std::vector<NodeId> colocate_with = {};
  bool has_own_name = false;  // `name` is what names().unique() made
};

class GraphEditor {
 public:
  /// REQUIRES: validate() found no problem in `file`, which outlives this. From here to finish() ids of nodes are
  /// stable, types and shapes of nodes that were there hold, and those of new nodes are in the graph too.
  explicit GraphEditor(GraphFile& file);
  ~GraphEditor();
  GraphEditor(const GraphEditor&) = delete;

  const Graph& graph() const { return graph_; }

  /// Until finish(): what is known of the nodes, also of kNoNode, of which nothing is. Values are valid as long as this
  /// object.
  LiveTypes& known() { return *known_; }
  DType type(Endpoint e) const { return known_->type(e); }
  const Shape& shape(Endpoint e) const { return known_->shape(e); }
  const Tensor* value(Endpoint e) { return known_->value(e); }

  /// The names of nodes and of name scopes: `cat(names().unique("gradients"), "/x")`.
  UniqueNames& names() { return names_; }

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
  NodeId append(std::string_view name, uint32_t op, uint32_t device, uint32_t attr_set,
                std::span<const Endpoint> inputs, std::span<const Endpoint> controls);
  void take_name(std::string_view name);
  void fail(Status status);

  GraphFile& file_;
  Graph& graph_;
  std::optional<LiveTypes> known_;
  UniqueNames names_;
  std::vector<bool> removed_;  // by node; short: the rest is not
  std::vector<NodeId> new_ids_;
  Status status_;
};

}  // namespace emplace
