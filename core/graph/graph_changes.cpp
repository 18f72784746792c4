// Part of core/graph/graph_editor.h: GraphEditor: changes of nodes that are there, and the way back to a validated
// graph.
#include <algorithm>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/graph/attr_lists.h"
#include "core/graph/graph_editor.h"
#include "core/graph/node_order.h"

namespace emplace {
namespace {

// The nodes that stay, side by side, with their edges. By old id: the new one, kNoNode for what is removed.
std::vector<NodeId> drop_removed(Graph& graph, const std::vector<bool>& removed, Problems& problems) {
  std::vector<NodeId> ids(graph.num_nodes(), kNoNode);
  NodeId next = 0;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!removed[id]) ids[id] = next++;
  }
  std::vector<Node> nodes;
  std::vector<Endpoint> edges;
  nodes.reserve(next);
  edges.reserve(graph.edges_.size());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (removed[id]) continue;
    Node node = graph.node(id);
    node.first_input = static_cast<uint32_t>(edges.size());
    for (const Endpoint& e : graph.inputs(id)) {
      if (ids[e.node] == kNoNode) {
        problems.add(node.position, cat("node '", node.name, "' reads '", graph.name(e.node), "', which was removed"),
                     {}, Code::kInternal);
      }
      edges.push_back({ids[e.node], e.slot});
    }
    for (const Endpoint& e : graph.controls(id)) {
      if (ids[e.node] != kNoNode) edges.push_back({ids[e.node], 0});
    }
    node.num_controls = static_cast<uint32_t>(edges.size() - node.first_input - node.num_inputs);
    nodes.push_back(node);
  }
  graph.nodes_ = std::move(nodes);
  graph.edges_ = std::move(edges);
  graph.name_index_ = NameIndex();
  graph.name_index_.reserve(graph.nodes_.size());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) graph.index_name(id);
  return ids;
}

// Brings `new_ids` along. False, and a problem, if nodes wait for each other.
bool put_in_order(Graph& graph, std::vector<NodeId>& new_ids, Problems& problems) {
  NodeOrder order = tensorflow_order(graph, {});
  for (const std::vector<NodeId>& cycle : order.cycles) {
    std::string path;
    for (NodeId id : cycle) append(path, graph.name(id), " -> ");
    problems.add(graph.node(cycle[0]).position, cat("these nodes wait for each other: ", path, graph.name(cycle[0])),
                 {}, Code::kInternal);
  }
  if (!order.cycles.empty()) return false;
  if (order.new_id.empty()) return true;
  renumber(graph, order.new_id);
  for (NodeId& id : new_ids) {
    if (id != kNoNode) id = order.new_id[id];
  }
  return true;
}

}  // namespace

void GraphEditor::set_input(NodeId node, uint32_t input, Endpoint source) {
  EMPLACE_ASSERT(input < graph_.node(node).num_inputs, "a node's number of inputs does not change");
  graph_.edges_[graph_.node(node).first_input + input] = source;
}

// Edges of a node lie side by side, so one more moves them to the end; finish() closes the gap.
void GraphEditor::add_control(NodeId id, NodeId before) {
  auto controls = graph_.controls(id);
  if (std::any_of(controls.begin(), controls.end(), [&](const Endpoint& e) { return e.node == before; })) return;
  Node& node = graph_.nodes_[id];
  const size_t first = graph_.edges_.size(), count = size_t{node.num_inputs} + node.num_controls;
  graph_.edges_.resize(first + count + 1);
  std::copy_n(graph_.edges_.begin() + node.first_input, count,
              graph_.edges_.begin() + static_cast<std::ptrdiff_t>(first));
  graph_.edges_.back() = {before, 0};
  node.first_input = static_cast<uint32_t>(first);
  ++node.num_controls;
}

void GraphEditor::set_device(NodeId node, std::string_view device) {
  graph_.nodes_[node].device = graph_.intern(device);
}

void GraphEditor::set_attr(NodeId node, std::string_view name, AttrValue value) {
  std::vector<Attrs::Entry> attrs(graph_.written_attrs(node).begin(), graph_.written_attrs(node).end());
  std::erase_if(attrs, [&](const Attrs::Entry& entry) { return entry.first == name; });
  attrs.push_back(kept_attr(graph_, name, std::move(value)));
  graph_.nodes_[node].attr_set = add_attrs(graph_, std::move(attrs));
}

void GraphEditor::rename(NodeId node, std::string_view name) {
  take_name(name);
  graph_.nodes_[node].name = graph_.keep(name);
  graph_.index_name(node);
}

void GraphEditor::remove(NodeId node) {
  if (removed_.size() <= node) removed_.resize(node + size_t{1});
  removed_[node] = true;
}

void GraphEditor::finish(Problems& problems, Problems* contradictions) {
  known_.reset();
  if (!status_.ok()) problems.add(kNoPosition, status_.message(), {}, status_.code());
  removed_.resize(graph_.num_nodes());
  new_ids_ = drop_removed(graph_, removed_, problems);
  if (!problems.empty() || !put_in_order(graph_, new_ids_, problems)) return;
  for (FileVariable& v : file_.variables) {
    v.variable = new_id(v.variable);
    v.assign = new_id(v.assign);
    v.read = new_id(v.read);
    v.initial_value.node = new_id(v.initial_value.node);
  }
  std::erase_if(file_.variables, [](const FileVariable& v) { return v.variable == kNoNode; });
  validate(file_, problems, contradictions);
}

}  // namespace emplace
