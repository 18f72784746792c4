#include "core/place/auto/exact.h"

#include <algorithm>

#include "core/place/auto/simulator.h"

namespace emplace::autoplace {
namespace {

constexpr uint16_t kOpen = 0xffff;

class BranchAndBound {
 public:
  BranchAndBound(const Problem& p, Budget& budget, Found& best)
      : p_(p),
        budget_(budget),
        best_(best),
        at_(p.num_groups, kOpen),
        used_(p.devices()),
        groups_(p.devices()),
        simulator_(p) {
    for (uint32_t g = 0; g < p.num_groups; ++g) {
      if ((p.candidates[g] & (p.candidates[g] - 1)) == 0) {
        uint16_t d = 0;
        while (!p.can_be(g, d)) ++d;
        put(g, d);
      }
    }
    // Groups of much work first; those of the same in their order.
    order_ = p.free_groups;
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return work(a) > work(b); });
    end_.resize(p.num_nodes);
  }

  bool run() { return descend(0); }

 private:
  double work(uint32_t g) const {
    double least = kNever;
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      if (p_.can_be(g, d)) least = std::min(least, p_.group_us_on(g, d));
    }
    return least;
  }
  void put(uint32_t g, uint16_t d) { at_[g] = d, used_[d] += p_.group_memory(g, d), ++groups_[d]; }
  void lift(uint32_t g) { used_[at_[g]] -= p_.group_memory(g, at_[g]), --groups_[at_[g]], at_[g] = kOpen; }

  // Decided groups count with their cost, the others with the least that they can cost.
  double least_us() { return p_.goal == Goal::kLatency ? least_latency() : least_load(); }

  double node_least(uint32_t node) const {
    const uint32_t g = p_.group[node];
    if (at_[g] != kOpen) return p_.node_us(node, at_[g]);
    double least = kNever;
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      if (p_.can_be(g, d)) least = std::min(least, p_.node_us(node, d));
    }
    return least;
  }
  double way_least(const Use& use) const {
    const uint16_t from = at_[p_.group[p_.tensors[use.tensor].node]], to = at_[p_.group[use.node]];
    if (from == kOpen || to == kOpen) return 0;
    return p_.way_us(use.tensor, p_.made_in(use.tensor, from), p_.machine.memory_of(to, use.host_on_gpu));
  }
  double least_latency() {
    double last = 0;
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      double start = 0;
      for (const Use& use : p_.inputs.of(n))
        start = std::max(start, end_[p_.tensors[use.tensor].node] + way_least(use));
      end_[n] = start + node_least(n);
      last = std::max(last, end_[n]);
    }
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      if (p_.machine.units[d].lanes > 0) last = std::max(last, decided_us(d) / p_.machine.units[d].lanes);
    }
    return last;
  }
  double decided_us(uint16_t d) const {
    double sum = 0;
    for (uint32_t g = 0; g < p_.num_groups; ++g) {
      if (at_[g] == d) sum += p_.group_us_on(g, d);
    }
    return sum;
  }
  double least_load() const {
    double most = 0, all = 0;
    int lanes = 0;
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      if (p_.machine.units[d].lanes == 0) return most;
      most = std::max(most, decided_us(d) / p_.machine.units[d].lanes);
      all += decided_us(d), lanes += p_.machine.units[d].lanes;
    }
    for (uint32_t g : order_) all += at_[g] == kOpen ? work(g) : 0;
    return std::max(most, all / lanes);
  }

  bool descend(size_t depth) {
    if (!budget_.take()) return false;
    if (depth == order_.size()) {
      const double us = p_.goal == Goal::kLatency ? simulator_.run(at_, best_.us) : value_of(p_, at_);
      if (us < best_.us) best_ = {at_, us};
      return true;
    }
    if (least_us() >= best_.us * (1 - 1e-12)) return true;
    const uint32_t g = order_[depth];
    uint64_t tried = 0;  // kinds of devices of which an empty one was tried
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      const double limit = p_.machine.units[d].memory;
      if (!p_.can_be(g, d) || (limit > 0 && used_[d] + p_.group_memory(g, d) > limit)) continue;
      if (groups_[d] == 0) {
        const uint64_t kind = uint64_t{1} << p_.device_class[d];
        if ((tried & kind) != 0) continue;
        tried |= kind;
      }
      put(g, d);
      const bool whole = descend(depth + 1);
      lift(g);
      if (!whole) return false;
    }
    return true;
  }

  const Problem& p_;
  Budget& budget_;
  Found& best_;
  Assignment at_;
  std::vector<double> used_, end_;
  std::vector<int> groups_;  // by device
  std::vector<uint32_t> order_;
  Simulator simulator_;
};

}  // namespace

bool find_exact(const Problem& problem, Budget& budget, Found& best) {
  return BranchAndBound(problem, budget, best).run();
}

}  // namespace emplace::autoplace
