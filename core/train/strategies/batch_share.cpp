#include "core/train/strategies/batch_share.h"

#include <algorithm>

namespace emplace {
namespace {

/// What a tensor's value depends on: nothing of the batch, its size only, or its samples.
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
    const OpTraits& op = g_.traits(node);
    Takes most = Takes::kNothing;
    for (const Endpoint& e : g_.inputs(node)) most = std::max(most, takes_[e.node]);
    takes_[node] = op.reads_shapes_only() ? std::min(most, Takes::kSize) : most;
    if (takes_[node] == Takes::kValues) share_[node] = share(op.of_sums, g_.inputs(node));
  }

  BatchShare share(OfSums op, std::span<const Endpoint> inputs) const {
    const BatchShare first = share_[inputs[0].node];
    const bool reduced_already = g_.output_shape(inputs[0]).fully_known();
    switch (op) {
      case OfSums::kKeeps:
      case OfSums::kNegates:
        return first;
      case OfSums::kAdds:
        return same_for_all(inputs);
      case OfSums::kMultiplies:
        return of_product(inputs[0].node, inputs[1].node);
      // By the number of samples, or by their weights, a sum becomes a mean.
      case OfSums::kDivides:
        return takes_[inputs[1].node] == Takes::kNothing ? first : BatchShare::kMean;
      case OfSums::kSums:
        return reduced_already ? first : BatchShare::kSum;
      case OfSums::kAverages:
        return reduced_already ? first : BatchShare::kMean;
      case OfSums::kSumsSquares:
        return reduced_already ? BatchShare::kMean : BatchShare::kSum;
      case OfSums::kNone:
        break;
    }
    return BatchShare::kMean;
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
