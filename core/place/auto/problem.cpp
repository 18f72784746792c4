#include "core/place/auto/problem.h"

#include <algorithm>
#include <tuple>

namespace emplace::autoplace {
namespace {

void drop_repeated_uses(std::vector<Use>& uses) {
  const auto key = [](const Use& u) { return std::tuple(u.node, u.tensor, u.host_on_gpu); };
  std::sort(uses.begin(), uses.end(), [&](const Use& a, const Use& b) { return key(a) < key(b); });
  uses.erase(std::unique(uses.begin(), uses.end(), [&](const Use& a, const Use& b) { return key(a) == key(b); }),
             uses.end());
}

std::vector<double> sums_of_groups(const Problem& p) {
  std::vector<double> sums(size_t{p.num_groups} * p.devices());
  for (uint32_t node = 0; node < p.num_nodes; ++node) {
    for (uint16_t d = 0; d < p.devices(); ++d) sums[p.group[node] * p.devices() + d] += p.node_us(node, d);
  }
  return sums;
}

/// Pairs (group, what it has to do with), each once, as rows.
Rows<uint32_t> rows_of_pairs(size_t rows, std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::vector<uint32_t> values;
  values.reserve(pairs.size());
  for (const auto& pair : pairs) values.push_back(pair.second);
  return Rows<uint32_t>(rows, values, [&](size_t i) { return pairs[i].first; });
}

bool alike(const Machine::Line& a, const Machine::Line& b) {
  return a.latency_us == b.latency_us && a.us_per_byte == b.us_per_byte && a.direct == b.direct;
}

/// Would nothing change if `a` and `b` changed their names?
bool exchangeable(const Problem& p, uint16_t a, uint16_t b) {
  const Machine& m = p.machine;
  const Machine::Unit &x = m.units[a], &y = m.units[b];
  if (a == m.host || b == m.host || x.gpu != y.gpu || x.lanes != y.lanes || x.copy_overlap != y.copy_overlap ||
      x.memory != y.memory || !alike(m.line(a, b), m.line(b, a)))
    return false;
  for (uint16_t d = 0; d < p.devices(); ++d) {
    if (d != a && d != b && (!alike(m.line(a, d), m.line(b, d)) || !alike(m.line(d, a), m.line(d, b)))) return false;
  }
  for (uint32_t g = 0; g < p.num_groups; ++g) {
    if (p.can_be(g, a) != p.can_be(g, b) || p.group_memory(g, a) != p.group_memory(g, b)) return false;
  }
  for (uint32_t node = 0; node < p.num_nodes; ++node) {
    if (p.node_us(node, a) != p.node_us(node, b)) return false;
  }
  return true;
}

}  // namespace

void Problem::finish() {
  drop_repeated_uses(uses);
  inputs = Rows<Use>(num_nodes, uses, [&](size_t i) { return uses[i].node; });
  readers = Rows<Use>(tensors.size(), uses, [&](size_t i) { return uses[i].tensor; });
  std::vector<uint32_t> numbers(std::max<size_t>(tensors.size(), num_nodes));
  for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  const std::vector<uint32_t> all_tensors(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(tensors.size()));
  const std::vector<uint32_t> all_nodes(numbers.begin(), numbers.begin() + num_nodes);
  outputs = Rows<uint32_t>(num_nodes, all_tensors, [&](size_t i) { return tensors[i].node; });
  members = Rows<uint32_t>(num_groups, all_nodes, [&](size_t i) { return group[i]; });
  group_us = sums_of_groups(*this);
  std::vector<std::pair<uint32_t, uint32_t>> near, with;
  for (const Use& use : uses) {
    const uint32_t a = group[tensors[use.tensor].node], b = group[use.node];
    with.insert(with.end(), {{a, use.tensor}, {b, use.tensor}});
    if (a != b) near.insert(near.end(), {{a, b}, {b, a}});
  }
  neighbours = rows_of_pairs(num_groups, near);
  touching = rows_of_pairs(num_groups, with);
  free_groups.clear();
  for (uint32_t g = 0; g < num_groups; ++g) {
    if ((candidates[g] & (candidates[g] - 1)) != 0) free_groups.push_back(g);
  }
  device_class.resize(devices());
  for (uint16_t d = 0; d < devices(); ++d) {
    uint16_t first = 0;
    while (first < d && (device_class[first] != first || !exchangeable(*this, first, d))) ++first;
    device_class[d] = first;
  }
}

double Problem::memory_used(const Assignment& at, uint16_t device) const {
  double used = 0;
  for (uint32_t g = 0; g < num_groups; ++g) {
    if (at[g] == device) used += group_memory(g, device);
  }
  return used;
}

bool Problem::fits(const Assignment& at) const {
  for (uint16_t d = 0; d < devices(); ++d) {
    if (machine.units[d].memory > 0 && memory_used(at, d) > machine.units[d].memory) return false;
  }
  return true;
}

uint64_t Dice::next() {  // SplitMix64
  uint64_t z = state_ += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace emplace::autoplace
