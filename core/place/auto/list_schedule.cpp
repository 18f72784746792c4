#include "core/place/auto/list_schedule.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "core/place/auto/orders.h"

namespace emplace::autoplace {
namespace {

/// Of one lane: when it is busy, in order.
using BusyTimes = std::vector<std::pair<double, double>>;

/// The first gap of `us` from `ready` on.
double gap_in(const BusyTimes& busy, double ready, double us) {
  double start = ready;
  auto at = std::lower_bound(busy.begin(), busy.end(), std::pair(ready, kNever));
  if (at != busy.begin()) start = std::max(start, std::prev(at)->second);
  for (; at != busy.end() && at->first < start + us; ++at) start = std::max(start, at->second);
  return start;
}

class ListScheduler {
 public:
  ListScheduler(const Problem& p, ListRule rule)
      : p_(p),
        made_(p.num_groups),
        decided_(p.num_groups),
        end_(p.num_nodes),
        used_(p.devices()),
        rank_(rule == ListRule::kHeft ? mean_ranks(p) : std::vector<double>(p.num_nodes)) {
    for (const Machine::Unit& unit : p.machine.units)
      lanes_.emplace_back(static_cast<size_t>(std::clamp(unit.lanes, 0, 64)));
    if (rule == ListRule::kPeft) find_costs_to_the_end();
    for (uint32_t g = 0; g < p.num_groups; ++g) {
      if ((p.candidates[g] & (p.candidates[g] - 1)) == 0) decide(g, first_candidate(g));
    }
  }

  Assignment run(Budget& budget) {
    constexpr uint32_t kBetweenLooks = 256;
    std::vector<size_t> missing(p_.num_nodes);
    std::priority_queue<std::pair<double, uint32_t>> ready;
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      missing[n] = p_.inputs.of(n).size();
      if (missing[n] == 0) ready.emplace(rank_[n], n);
    }
    for (uint32_t done = 0; !ready.empty(); ++done) {
      if (done % kBetweenLooks == 0 && budget.look()) break;
      const uint32_t n = ready.top().second;
      ready.pop();
      place(n);
      for (uint32_t t : p_.outputs.of(n)) {
        for (const Use& use : p_.readers.of(t)) {
          if (--missing[use.node] == 0) ready.emplace(rank_[use.node], use.node);
        }
      }
    }
    for (uint32_t g = 0; g < p_.num_groups; ++g) {
      if (!decided_[g]) decide(g, fallback(g));
    }
    return made_;
  }

 private:
  uint16_t first_candidate(uint32_t g) const {
    uint16_t d = 0;
    while (!p_.can_be(g, d)) ++d;
    return d;
  }

  // PEFT's table: from a node on a device to the end, every later node where that is best.
  void find_costs_to_the_end() {
    const size_t n = p_.devices();
    to_end_.assign(size_t{p_.num_nodes} * n, 0);
    for (uint32_t node = p_.num_nodes; node-- > 0;) {
      double sum = 0;
      for (uint16_t d = 0; d < n; ++d) {
        double most = 0;
        for (uint32_t t : p_.outputs.of(node)) {
          for (const Use& use : p_.readers.of(t)) {
            double least = kNever;
            for (uint16_t to = 0; to < n; ++to) {
              if (!p_.can_be(p_.group[use.node], to)) continue;
              const double way = p_.way_us(t, p_.made_in(t, d), p_.machine.memory_of(to, use.host_on_gpu));
              least = std::min(least, way + p_.node_us(use.node, to) + to_end_[use.node * n + to]);
            }
            if (least < kNever) most = std::max(most, least);
          }
        }
        to_end_[node * n + d] = most;
        sum += most;
      }
      rank_[node] = sum / static_cast<double>(n);
    }
  }

  void decide(uint32_t g, uint16_t d) {
    made_[g] = d, decided_[g] = true;
    used_[d] += p_.group_memory(g, d);
  }

  double ready_on(uint32_t node, uint16_t d) const {
    double ready = 0;
    for (const Use& use : p_.inputs.of(node)) {
      const uint32_t source = p_.tensors[use.tensor].node;
      const uint16_t from = p_.made_in(use.tensor, made_[p_.group[source]]);
      ready = std::max(ready, end_[source] + p_.way_us(use.tensor, from, p_.machine.memory_of(d, use.host_on_gpu)));
    }
    return ready;
  }

  // Start, and the lane that is free then.
  std::pair<double, size_t> start_on(uint32_t node, uint16_t d) const {
    const double ready = ready_on(node, d);
    std::pair<double, size_t> best{lanes_[d].empty() ? ready : kNever, 0};
    for (size_t lane = 0; lane < lanes_[d].size(); ++lane) {
      const double start = gap_in(lanes_[d][lane], ready, p_.node_us(node, d));
      if (start < best.first) best = {start, lane};
    }
    return best;
  }

  void place(uint32_t node) {
    const uint32_t g = p_.group[node];
    if (!decided_[g]) {
      double least = kNever;
      uint16_t best = fallback(g);
      for (uint16_t d = 0; d < p_.devices(); ++d) {
        const double limit = p_.machine.units[d].memory;
        if (!p_.can_be(g, d) || (limit > 0 && used_[d] + p_.group_memory(g, d) > limit)) continue;
        const double end =
            start_on(node, d).first + p_.node_us(node, d) + (to_end_.empty() ? 0 : to_end_[node * p_.devices() + d]);
        if (end < least) least = end, best = d;
      }
      decide(g, best);
    }
    const uint16_t d = made_[g];
    const auto [start, lane] = start_on(node, d);
    end_[node] = start + p_.node_us(node, d);
    if (lanes_[d].empty() || p_.node_us(node, d) <= 0) return;
    BusyTimes& busy = lanes_[d][lane];
    const std::pair<double, double> time{start, end_[node]};
    busy.insert(std::lower_bound(busy.begin(), busy.end(), time), time);
  }

  uint16_t fallback(uint32_t g) const { return p_.can_be(g, p_.machine.host) ? p_.machine.host : p_.original[g]; }

  const Problem& p_;
  Assignment made_;
  std::vector<bool> decided_;
  std::vector<double> end_, used_, rank_, to_end_;
  std::vector<std::vector<BusyTimes>> lanes_;  // by device; none: without limit
};

}  // namespace

Assignment list_schedule(const Problem& problem, ListRule rule, Budget& budget) {
  return ListScheduler(problem, rule).run(budget);
}

}  // namespace emplace::autoplace
