#include "core/report/diff/match_nodes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/cat.h"

namespace emplace {
namespace {

using IndexOfName = std::unordered_map<std::string_view, uint32_t>;

IndexOfName index_of(const PlacementView& view) {
  IndexOfName index;
  for (uint32_t i = 0; i < view.nodes.size(); ++i) index.emplace(view.nodes[i].name, i);
  return index;
}

/// "^a" and "a:1" are of node a.
std::string_view node_of_input(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  const size_t colon = input.rfind(':');
  return colon == input.npos ? input : input.substr(0, colon);
}

/// One side, with the readers of each node.
struct Side {
  const PlacementView& view;
  IndexOfName index;
  std::vector<std::vector<uint32_t>> readers;

  explicit Side(const PlacementView& v) : view(v), index(index_of(v)), readers(v.nodes.size()) {
    for (uint32_t i = 0; i < v.nodes.size(); ++i) {
      for (const std::string& input : v.nodes[i].inputs) {
        const auto source = index.find(node_of_input(input));
        if (source != index.end()) readers[source->second].push_back(i);
      }
    }
  }
};

/// What a node without a partner looks like: neighbours that have one count by it, others by their op.
std::string look_of(const Side& side, uint32_t node, const std::vector<uint32_t>& pair_number) {
  const NodeView& view = side.view.nodes[node];
  const auto neighbour = [&](uint32_t i) {
    return pair_number[i] == kNoMatch ? side.view.nodes[i].op : cat('#', pair_number[i]);
  };
  std::string look = cat(view.op, '\n', view.contents.value_or(""), '\n');
  for (const std::string& input : view.inputs) {
    const auto source = side.index.find(node_of_input(input));
    append(look, source == side.index.end() ? input : neighbour(source->second), input.starts_with('^') ? "^" : "",
           '\n');
  }
  std::vector<std::string> readers;
  for (const uint32_t reader : side.readers[node]) readers.push_back(neighbour(reader));
  std::sort(readers.begin(), readers.end());
  for (const std::string& reader : readers) append(look, '>', reader, '\n');
  return look;
}

/// Looks that one node alone has.
std::unordered_map<std::string, uint32_t> lone_looks(const Side& side, const std::vector<uint32_t>& matched,
                                                     const std::vector<uint32_t>& pair_number) {
  std::unordered_map<std::string, uint32_t> looks;
  for (uint32_t i = 0; i < matched.size(); ++i) {
    if (matched[i] != kNoMatch) continue;
    const auto [look, is_new] = looks.emplace(look_of(side, i, pair_number), i);
    if (!is_new) look->second = kNoMatch;
  }
  return looks;
}

}  // namespace

NodeMatch match_nodes(const PlacementView& a, const PlacementView& b) {
  const Side of_a(a), of_b(b);
  NodeMatch match{std::vector(a.nodes.size(), kNoMatch), std::vector(b.nodes.size(), kNoMatch)};
  for (uint32_t i = 0; i < a.nodes.size(); ++i) {
    const auto same = of_b.index.find(a.nodes[i].name);
    if (same == of_b.index.end()) continue;
    match.of_a[i] = same->second;
    match.of_b[same->second] = i;
  }
  if (!a.has_inputs || !b.has_inputs) return match;
  // Each round finds neighbours of the pairs that are known; a pair's number is that of its node in a.
  constexpr int kMaxRounds = 64;
  for (int round = 0; round < kMaxRounds; ++round) {
    std::vector<uint32_t> number_a(a.nodes.size(), kNoMatch);
    for (uint32_t i = 0; i < a.nodes.size(); ++i) number_a[i] = match.of_a[i] == kNoMatch ? kNoMatch : i;
    const auto looks_a = lone_looks(of_a, match.of_a, number_a);
    const auto looks_b = lone_looks(of_b, match.of_b, match.of_b);
    bool any = false;
    for (const auto& [look, i] : looks_a) {
      const auto other = looks_b.find(look);
      if (i == kNoMatch || other == looks_b.end() || other->second == kNoMatch) continue;
      match.of_a[i] = other->second;
      match.of_b[other->second] = i;
      any = true;
    }
    if (!any) break;
  }
  return match;
}

}  // namespace emplace
