#include "core/train/strategies/batch_share.h"

#include <algorithm>
#include <string_view>

namespace emplace {
namespace {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

/// What a tensor takes from the batch.
enum class Takes : uint8_t { kNothing, kSize, kValues };

/// Settles all that a tensor depends on, inputs first.
class Classifier {
 public:
  Classifier(const Graph& g, const std::vector<Endpoint>& batch)
      : g_(g),
        entered_(g.num_nodes()),
        takes_(g.num_nodes(), Takes::kNothing),
        share_(g.num_nodes(), BatchShare::kMean) {
    for (const Endpoint& e : batch) {
      takes_[e.node] = Takes::kValues;
      entered_[e.node] = true;
    }
  }

  BatchShare of(Endpoint value) {
    std::vector<NodeId> open = {value.node};
    while (!open.empty()) {
      const NodeId node = open.back();
      if (!entered_[node]) {
        entered_[node] = true;
        for (const Endpoint& e : g_.inputs(node)) {
          if (!entered_[e.node]) open.push_back(e.node);
        }
        continue;
      }
      open.pop_back();
      settle(node);
    }
    return share_[value.node];
  }

 private:
  void settle(NodeId node) {
    if (g_.inputs(node).empty()) return;
    const std::string_view op = g_.op(node);
    Takes most = Takes::kNothing;
    for (const Endpoint& e : g_.inputs(node)) most = std::max(most, takes_[e.node]);
    takes_[node] = is_one_of(op, {"Shape", "ShapeN", "Size", "Rank"}) ? std::min(most, Takes::kSize) : most;
    if (takes_[node] == Takes::kValues) share_[node] = share(op, g_.inputs(node));
  }

  BatchShare share(std::string_view op, std::span<const Endpoint> inputs) const {
    const BatchShare first = share_[inputs[0].node];
    if (is_one_of(op, {"Identity", "StopGradient", "Cast", "Neg", "Reshape", "Squeeze", "ExpandDims", "Print",
                       "CheckNumerics"}))
      return first;
    if (is_one_of(op, {"Add", "AddV2", "Sub", "AddN"})) return same_for_all(inputs);
    if (op == "Mul") return of_product(inputs[0].node, inputs[1].node);
    if (is_one_of(op, {"RealDiv", "Div", "DivNoNan"})) {
      // By the number of samples, or by their weights, a sum becomes a mean.
      return takes_[inputs[1].node] == Takes::kNothing ? first : BatchShare::kMean;
    }
    const bool reduced_already = g_.output_shape(inputs[0]).fully_known();
    if (op == "Sum" || op == "Mean")
      return reduced_already ? first : op == "Sum" ? BatchShare::kSum : BatchShare::kMean;
    return op == "L2Loss" && !reduced_already ? BatchShare::kSum : BatchShare::kMean;
  }

  BatchShare same_for_all(std::span<const Endpoint> terms) const {
    const BatchShare first = share_[terms[0].node];
    return std::all_of(terms.begin(), terms.end(), [&](const Endpoint& e) { return share_[e.node] == first; })
               ? first
               : BatchShare::kMixed;
  }

  BatchShare of_product(NodeId a, NodeId b) const {
    if (takes_[a] != Takes::kValues) std::swap(a, b);
    if (takes_[b] == Takes::kValues) return BatchShare::kMean;
    const bool mean_times_size = takes_[b] == Takes::kSize && share_[a] == BatchShare::kMean;
    return mean_times_size ? BatchShare::kSum : share_[a];
  }

  const Graph& g_;
  // By node. What a loop has not settled yet takes nothing.
  std::vector<bool> entered_;
  std::vector<Takes> takes_;
  std::vector<BatchShare> share_;
};

}  // namespace

BatchShare batch_share(const Graph& graph, Endpoint value, const std::vector<Endpoint>& batch) {
  return Classifier(graph, batch).of(value);
}

}  // namespace emplace
