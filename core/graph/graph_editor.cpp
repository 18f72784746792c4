#include "core/graph/graph_editor.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/graph/attr_lists.h"
#include "core/graph/colocation.h"

namespace emplace {
namespace {

std::vector<Endpoint> control_edges(std::span<const NodeId> nodes) {
  std::vector<Endpoint> edges;
  for (NodeId node : nodes) {
    if (std::find(edges.begin(), edges.end(), Endpoint{node, 0}) == edges.end()) edges.push_back({node, 0});
  }
  return edges;
}

// The attr set of a copy of `node`: what is its own name, or that of another node with a copy, is the copy's.
uint32_t cloned_attrs(Graph& graph, NodeId node, const std::unordered_map<std::string_view, std::string>& names,
                      const std::function<std::string(std::string_view)>& rename) {
  std::vector<Attrs::Entry> attrs(graph.written_attrs(node).begin(), graph.written_attrs(node).end());
  bool changed = false;
  for (Attrs::Entry& entry : attrs) {
    if (const auto* text = entry.second->get_if<std::string>();
        entry.first == "shared_name" && text && *text == graph.name(node)) {
      entry = kept_attr(graph, "shared_name", AttrValue::of(names.at(graph.name(node))));
      changed = true;
    } else if (text && entry.first == "frame_name") {
      entry = kept_attr(graph, "frame_name", AttrValue::of(rename(*text)));
      changed = true;
    }
    const auto* groups = entry.first == "_class" ? entry.second->get_if<std::vector<std::string>>() : nullptr;
    if (!groups) continue;
    std::vector<std::string> renamed = *groups;
    for (std::string& group : renamed) {
      std::string_view member = group;
      if (!member.starts_with(kColocationPrefix)) continue;
      auto found = names.find(member.substr(kColocationPrefix.size()));
      if (found != names.end()) group = cat(kColocationPrefix, found->second);
    }
    if (renamed == *groups) continue;
    entry = kept_attr(graph, "_class", AttrValue::list_of(AttrKind::kString, std::move(renamed)));
    changed = true;
  }
  return changed ? add_attrs(graph, std::move(attrs)) : graph.node(node).attr_set;
}

}  // namespace

// Types and shapes are inferred again for the edited graph; literals are typed Const nodes by now.
GraphEditor::GraphEditor(GraphFile& file) : file_(file), graph_(file.graph) {
  graph_.literals_.clear();
  known_.emplace(file_);
  names_.reserve(graph_.num_nodes());
  for (const Node& node : graph_.nodes_) names_.take(node.name);
}

GraphEditor::~GraphEditor() = default;

void GraphEditor::take_name(std::string_view name) {
  EMPLACE_ASSERT(graph_.find(name) == kNoNode, "who gives a node its name has made sure that it is free");
  names_.take(name);
}

void GraphEditor::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

NodeId GraphEditor::append(std::string_view name, uint32_t op, uint32_t device, uint32_t attr_set,
                           std::span<const Endpoint> inputs, std::span<const Endpoint> controls) {
  Node node;
  node.name = graph_.keep(name);
  node.op = op;
  node.device = device;
  node.attr_set = attr_set;
  node.first_input = static_cast<uint32_t>(graph_.edges_.size());
  node.num_inputs = static_cast<uint32_t>(inputs.size());
  node.num_controls = static_cast<uint32_t>(controls.size());
  graph_.edges_.insert(graph_.edges_.end(), inputs.begin(), inputs.end());
  graph_.edges_.insert(graph_.edges_.end(), controls.begin(), controls.end());
  const NodeId id = graph_.num_nodes();
  graph_.nodes_.push_back(node);
  graph_.index_name(id);
  if (Status status = known_->add(id); !status.ok()) fail(std::move(status));
  return id;
}

NodeId GraphEditor::add(NewNode node) {
  auto missing = [&](NodeId id) { return id >= graph_.num_nodes(); };
  if (std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Endpoint& e) { return missing(e.node); }) ||
      std::any_of(node.controls.begin(), node.controls.end(), missing)) {
    fail(internal_error(cat("node '", node.name, "' (", node.op, ") is to read a node that does not exist")));
    return kNoNode;
  }
  std::vector<Attrs::Entry> attrs;
  for (auto& [name, value] : node.attrs) attrs.push_back(kept_attr(graph_, name, std::move(value)));
  std::vector<std::string> groups;
  std::string_view device = node.device;
  for (NodeId other : node.colocate_with) {
    for (std::string& group : colocation_groups(graph_, other)) groups.push_back(std::move(group));
    if (!graph_.requested_device(other).empty()) device = graph_.requested_device(other);
  }
  if (!groups.empty()) {
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    attrs.push_back(kept_attr(graph_, "_class", AttrValue::list_of(AttrKind::kString, std::move(groups))));
  }
  const uint32_t op = graph_.intern(node.op), device_id = graph_.intern(device);
  const std::string name = node.has_own_name ? std::move(node.name) : names_.unique(node.name);
  return append(name, op, device_id, add_attrs(graph_, std::move(attrs)), node.inputs, control_edges(node.controls));
}

Endpoint GraphEditor::constant(std::string name, Tensor value, std::vector<NodeId> colocate_with, std::string device) {
  NewNode node{
      .name = std::move(name), .op = "Const", .device = std::move(device), .colocate_with = std::move(colocate_with)};
  node.attrs.emplace_back("dtype", AttrValue::of(value.dtype()));
  node.attrs.emplace_back("value", AttrValue::of(std::move(value)));
  return add_output(std::move(node));
}

std::vector<NodeId> GraphEditor::clone(std::span<const NodeId> nodes,
                                       const std::function<std::string(std::string_view)>& rename) {
  std::unordered_map<std::string_view, std::string> names;
  for (NodeId node : nodes) names.emplace(graph_.name(node), rename(graph_.name(node)));
  // In node order, so that the copies' inputs exist; a loop's back edge is closed at the end.
  std::vector<NodeId> in_order(nodes.begin(), nodes.end());
  std::sort(in_order.begin(), in_order.end());
  std::unordered_map<NodeId, NodeId> copies;
  for (NodeId node : in_order) {
    const std::string& name = names.at(graph_.name(node));
    take_name(name);
    auto copy_of = [&](std::span<const Endpoint> edges) {
      std::vector<Endpoint> out(edges.begin(), edges.end());
      for (Endpoint& e : out) {
        if (auto copy = copies.find(e.node); copy != copies.end()) e.node = copy->second;
      }
      return out;
    };
    const uint32_t attrs = cloned_attrs(graph_, node, names, rename);
    const Node original = graph_.node(node);
    copies[node] =
        append(name, original.op, original.device, attrs, copy_of(graph_.inputs(node)), copy_of(graph_.controls(node)));
  }
  for (NodeId node : in_order) {
    const Node& copy = graph_.node(copies[node]);
    for (uint32_t i = 0; i < copy.num_inputs + copy.num_controls; ++i) {
      Endpoint& e = graph_.edges_[copy.first_input + i];
      if (auto late = copies.find(e.node); late != copies.end()) e.node = late->second;
    }
  }
  std::vector<NodeId> out;
  for (NodeId node : nodes) out.push_back(copies[node]);
  return out;
}

}  // namespace emplace
