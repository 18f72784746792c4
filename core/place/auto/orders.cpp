#include "core/place/auto/orders.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

namespace emplace::autoplace {
namespace {

/// Positions of nodes, inputs first; of those that are ready, the largest key.
std::vector<double> positions_by(const Problem& p, const std::vector<double>& key) {
  std::vector<size_t> missing(p.num_nodes);
  std::priority_queue<std::pair<double, uint32_t>> ready;
  for (uint32_t n = 0; n < p.num_nodes; ++n) {
    missing[n] = p.inputs.of(n).size();
    if (missing[n] == 0) ready.emplace(key[n], n);
  }
  std::vector<double> position(p.num_nodes);
  for (double next = 0; !ready.empty(); ++next) {
    const uint32_t n = ready.top().second;
    ready.pop();
    position[n] = next;
    for (uint32_t t : p.outputs.of(n)) {
      for (const Use& use : p.readers.of(t)) {
        if (--missing[use.node] == 0) ready.emplace(key[use.node], use.node);
      }
    }
  }
  return position;
}

/// Inputs of a node stand right before it, those of the longest way first.
std::vector<double> positions_from_ends(const Problem& p, const std::vector<double>& rank, bool longest_first) {
  std::vector<double> position(p.num_nodes, -1);
  double next = 0;
  std::vector<std::pair<uint32_t, bool>> stack;  // node, are its inputs done
  for (uint32_t end = 0; end < p.num_nodes; ++end) {
    bool read = false;
    for (uint32_t t : p.outputs.of(end)) read = read || !p.readers.of(t).empty();
    if (!read) stack.emplace_back(end, false);
    while (!stack.empty()) {
      const auto [n, done] = stack.back();
      stack.pop_back();
      if (position[n] >= 0) continue;
      if (done) {
        position[n] = next++;
        continue;
      }
      stack.emplace_back(n, true);
      std::vector<uint32_t> sources;
      for (const Use& use : p.inputs.of(n)) sources.push_back(p.tensors[use.tensor].node);
      std::stable_sort(sources.begin(), sources.end(),
                       [&](uint32_t a, uint32_t b) { return longest_first ? rank[a] < rank[b] : rank[a] > rank[b]; });
      for (uint32_t s : sources) {
        if (position[s] < 0) stack.emplace_back(s, false);
      }
    }
  }
  return position;
}

/// A group stands where its first node with inputs does; one of sources only, right before what reads it.
GroupOrder order_of_groups(const Problem& p, const std::vector<double>& position) {
  std::vector<double> place(p.num_groups, kNever), source_place(p.num_groups, kNever);
  for (uint32_t n = 0; n < p.num_nodes; ++n) {
    const uint32_t g = p.group[n];
    if (!p.inputs.of(n).empty()) {
      place[g] = std::min(place[g], position[n]);
      continue;
    }
    source_place[g] = std::min(source_place[g], static_cast<double>(p.num_nodes) + position[n]);
    for (uint32_t t : p.outputs.of(n)) {
      for (const Use& use : p.readers.of(t)) source_place[g] = std::min(source_place[g], position[use.node] - 0.5);
    }
  }
  GroupOrder order(p.num_groups);
  for (uint32_t g = 0; g < p.num_groups; ++g) {
    order[g] = g;
    if (place[g] == kNever) place[g] = source_place[g];
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return place[a] < place[b]; });
  return order;
}

}  // namespace

std::vector<double> mean_ranks(const Problem& p) {
  std::vector<double> rank(p.num_nodes), way(p.tensors.size());
  const size_t n = p.devices();
  for (uint32_t t = 0; t < p.tensors.size(); ++t) {
    double sum = 0;
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b) sum += p.way_us(t, a, b);
    }
    way[t] = sum / static_cast<double>(n * n);
  }
  for (uint32_t node = p.num_nodes; node-- > 0;) {
    double sum = 0, behind = 0;
    int count = 0;
    for (uint16_t d = 0; d < n; ++d) {
      if (p.can_be(p.group[node], d)) sum += p.node_us(node, d), ++count;
    }
    for (uint32_t t : p.outputs.of(node)) {
      for (const Use& use : p.readers.of(t)) behind = std::max(behind, way[t] + rank[use.node]);
    }
    rank[node] = sum / std::max(1, count) + behind;
  }
  return rank;
}

std::vector<uint32_t> nodes_depth_first(const Problem& p) {
  const std::vector<double> position = positions_from_ends(p, mean_ranks(p), true);
  std::vector<uint32_t> nodes(p.num_nodes);
  for (uint32_t n = 0; n < p.num_nodes; ++n) nodes[static_cast<size_t>(position[n])] = n;
  return nodes;
}

std::vector<GroupOrder> group_orders(const Problem& p, int random, uint64_t seed) {
  const std::vector<double> rank = mean_ranks(p);
  std::vector<double> key(p.num_nodes), level(p.num_nodes);
  std::vector<GroupOrder> orders;
  const auto add = [&](GroupOrder order) {
    if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(std::move(order));
  };
  add(order_of_groups(p, positions_from_ends(p, rank, true)));
  add(order_of_groups(p, positions_from_ends(p, rank, false)));
  for (uint32_t n = 0; n < p.num_nodes; ++n) {
    for (const Use& use : p.inputs.of(n)) level[n] = std::max(level[n], level[p.tensors[use.tensor].node] + 1);
    key[n] = -level[n];
  }
  add(order_of_groups(p, positions_by(p, key)));
  add(order_of_groups(p, positions_by(p, rank)));
  for (uint32_t n = 0; n < p.num_nodes; ++n) key[n] = n;
  add(order_of_groups(p, key));
  Dice dice(seed);
  for (int i = 0; i < random; ++i) {
    for (double& k : key) k = dice.share();
    add(order_of_groups(p, i % 2 == 0 ? positions_by(p, key) : positions_from_ends(p, key, true)));
  }
  return orders;
}

}  // namespace emplace::autoplace
