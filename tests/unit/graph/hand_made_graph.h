/// HandMadeGraph: a graph put together node by node, as load would leave it, for tests of what comes after load.
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/base/cat.h"
#include "core/graph/graph_file.h"

namespace emplace {

class HandMadeGraph {
 public:
  using AttrList = std::vector<std::pair<std::string, AttrValue>>;

  HandMadeGraph() { file.ops = std::make_unique<OpTable>(); }

  /// Inputs are "n", "n:1" or "^n", of nodes that exist.
  NodeId node(std::string_view name, std::string_view op, std::initializer_list<std::string_view> inputs = {},
              AttrList attrs = {}, std::string_view device = {}) {
    Graph& g = file.graph;
    Node n;
    n.name = keep(name);
    n.op = text_id(op);
    n.device = text_id(device);
    n.position = static_cast<int64_t>(g.nodes_.size());
    if (!attrs.empty()) {
      std::vector<Attrs::Entry> entries;
      for (auto& [key, value] : attrs) {
        g.attr_values_.push_back(std::move(value));
        entries.emplace_back(keep(key), &g.attr_values_.back());
      }
      n.attr_set = static_cast<uint32_t>(g.attr_sets_.size());
      g.attr_sets_.push_back(std::move(entries));
    }
    n.first_input = static_cast<uint32_t>(g.edges_.size());
    for (std::string_view input : inputs) {
      bool control = input.starts_with('^');
      if (control) input.remove_prefix(1);
      size_t colon = input.find(':');
      uint32_t slot =
          colon == std::string_view::npos ? 0 : static_cast<uint32_t>(std::stoul(std::string(input.substr(colon + 1))));
      g.edges_.push_back({id_of(input.substr(0, colon)), slot});
      (control ? n.num_controls : n.num_inputs) += 1;
    }
    g.nodes_.push_back(n);
    return g.num_nodes() - 1;
  }
  NodeId constant(std::string_view name, Tensor value) {
    return node(name, "Const", {}, {{"value", AttrValue::of(std::move(value))}});
  }
  template <class T>
  NodeId vector(std::string_view name, std::vector<T> values) {
    return constant(name, Tensor::of<T>({static_cast<int64_t>(values.size())}, std::span<const T>(values)));
  }
  NodeId placeholder(std::string_view name, DType dtype, Shape shape) {
    return node(name, "Placeholder", {}, {{"dtype", AttrValue::of(dtype)}, {"shape", AttrValue::of(std::move(shape))}});
  }
  /// A literal that input `input` of the node made next reads.
  void literal(std::string_view name, uint32_t input, Tensor value, bool typed = false) {
    NodeId id = node(name, "Const");
    file.graph.literals_.push_back({id, id + 1, input, std::move(value), typed});
  }
  /// Points input `input` of `consumer` at a node that was made later.
  void close_loop(NodeId consumer, uint32_t input, NodeId source) {
    file.graph.edges_[file.graph.nodes_[consumer].first_input + input] = {source, 0};
  }

  /// Validates; the problems' messages, one a line, with their hints in brackets.
  std::string problems() {
    Problems found;
    validate(file, found);
    std::string out;
    for (const Problem& p : found.list()) {
      append(out, p.message);
      if (!p.hint.empty()) append(out, " [", p.hint, "]");
      out += '\n';
    }
    return out;
  }
  const Shape& shape(std::string_view name, uint32_t slot = 0) { return file.graph.output_shape({id_of(name), slot}); }
  const NodeType& type(std::string_view name) { return file.graph.type(id_of(name)); }

  GraphFile file;

 private:
  std::string_view keep(std::string_view s) { return texts_.emplace_back(s); }
  uint32_t text_id(std::string_view s) { return file.graph.intern(s); }
  NodeId id_of(std::string_view name) {
    for (NodeId id = 0; id < file.graph.num_nodes(); ++id) {
      if (file.graph.name(id) == name) return id;
    }
    return 0;
  }

  std::deque<std::string> texts_;
};

}  // namespace emplace
