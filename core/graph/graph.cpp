// Invariants of a graph: node i's edges are edges_[first_input, first_input + num_inputs + num_controls); every edge
// names an existing node; name_index_ holds exactly the nodes' names; texts_[0] and attr_sets_[0] are empty.
#include "core/graph/graph.h"

namespace emplace {

Graph::Graph() : attr_sets_{{}}, shapes_{Shape::unknown()} {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

std::span<const Attrs::Entry> Graph::written_attrs(NodeId id) const { return attr_sets_[nodes_[id].attr_set]; }

NodeId Graph::find(std::string_view name) const {
  return name_index_.find(name, [this](uint32_t id) { return nodes_[id].name; });
}

NodeId Graph::index_name(NodeId id) {
  return name_index_.insert(nodes_[id].name, id, [this](uint32_t other) { return nodes_[other].name; });
}

int64_t Graph::heap_bytes() const {
  constexpr size_t kOfAttrSet = 64, kOfType = 256, kOfName = 16;  // what lists in them take beside, names in the index
  const size_t bytes = nodes_.capacity() * (sizeof(Node) + kOfName) + edges_.capacity() * sizeof(Endpoint) +
                       texts_.size() * (sizeof(std::string_view) + kOfName) + attr_sets_.size() * kOfAttrSet +
                       attr_values_.size() * sizeof(AttrValue) + types_.size() * kOfType +
                       output_shapes_.capacity() * sizeof(uint32_t) + shapes_.size() * sizeof(Shape) +
                       literals_.capacity() * sizeof(Literal);
  return static_cast<int64_t>(bytes);
}

Consumers::Consumers(const Graph& g) : first_(g.num_nodes() + size_t{2}) {
  // Counts are kept one place further right, so that filling the lists moves first_ to where it belongs.
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    for (const Endpoint& e : g.inputs(id)) ++first_[e.node + size_t{2}];
    for (const Endpoint& e : g.controls(id)) ++first_[e.node + size_t{2}];
  }
  for (size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
  edges_.resize(first_.back());
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    int32_t input = 0;
    for (const Endpoint& e : g.inputs(id)) edges_[first_[e.node + size_t{1}]++] = {id, input++, e.slot};
    for (const Endpoint& e : g.controls(id)) edges_[first_[e.node + size_t{1}]++] = {id, -1, 0};
  }
}

}  // namespace emplace
