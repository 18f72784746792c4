#include "core/place/auto/work_bound.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "core/place/auto/device_kinds.h"

namespace emplace::autoplace {
namespace {

/// By kind of device: what a microsecond of a lane there counts. No assignment does more than 1 in a microsecond.
using Weights = std::vector<double>;

class WorkBound {
 public:
  WorkBound(const Problem& p, double below_us, Budget& budget)
      : p_(p), below_us_(below_us), budget_(budget), kinds_(p), allowed_(p.num_nodes) {
    for (size_t k = 0; k < kinds(); ++k)
      capacity_.push_back(static_cast<double>(kinds_.counts[k]) * p.machine.units[kinds_.firsts[k]].lanes);
    for (uint32_t n = 0; n < p.num_nodes; ++n) allowed_[n] = p.candidates[p.group[n]];
  }

  double best() {
    constexpr int kRounds = 2;
    double most = 0;
    for (int round = 0; round < kRounds && !budget_.look(); ++round) {
      find_starts();
      find_tails();
      for (uint32_t n = 0; n < p_.num_nodes; ++n) most = std::max(most, longest_through(n));
      most = std::max(most, work_from_late_nodes());
      if (below_us_ == kNever || most >= below_us_) break;
      for (uint32_t n = 0; n < p_.num_nodes; ++n) forbid_late_devices(n);
    }
    return std::min(most, below_us_);
  }

 private:
  size_t kinds() const { return kinds_.size(); }
  bool can_be(uint32_t node, size_t kind) const { return allowed_[node] >> kinds_.firsts[kind] & 1; }
  double us(uint32_t node, size_t kind) const { return p_.node_us(node, kinds_.firsts[kind]); }

  // The least that a tensor takes from a device of kind a to who reads it on one of kind b.
  double way_us(const Use& use, size_t a, size_t b) const {
    const uint16_t from = p_.made_in(use.tensor, kinds_.firsts[a]);
    return p_.way_us(use.tensor, from, p_.machine.memory_of(kinds_.firsts[b], use.host_on_gpu));
  }

  void find_weights() {
    weights_.clear();
    if (p_.machine.threads > 0) weights_.emplace_back(kinds(), 1.0 / p_.machine.threads);
    double lanes = 0;
    for (const double c : capacity_) lanes += c;
    if (lanes <= 0) return;
    Weights equal(kinds());
    for (size_t k = 0; k < kinds(); ++k) {
      if (capacity_[k] <= 0) continue;
      equal[k] = 1 / lanes;
      weights_.emplace_back(kinds());
      weights_.back()[k] = 1 / capacity_[k];
    }
    if (kinds() > 1) weights_.insert(weights_.end(), {equal, balanced(equal)});
  }

  // Counts more where there is too much to do.
  Weights balanced(Weights w) {
    constexpr int kRounds = 60;
    Weights best = w;
    double most = 0;
    for (int round = 0; round < kRounds && !budget_.look(); ++round) {
      std::vector<double> load(kinds());
      double sum = 0, total = 0;
      for (uint32_t n = 0; n < p_.num_nodes; ++n) {
        const auto [share, kind] = least_share(n, w);
        sum += share;
        if (w[kind] > 0) load[kind] += share / w[kind] / capacity_[kind];
      }
      if (sum > most) most = sum, best = w;
      const double top = *std::max_element(load.begin(), load.end());
      if (top <= 0) break;
      for (size_t k = 0; k < kinds(); ++k)
        total += (w[k] *= std::exp((load[k] / top - 1) / (1 + round * 0.1))) * capacity_[k];
      for (double& x : w) x /= total;
    }
    return best;
  }

  std::pair<double, size_t> least_share(uint32_t node, const Weights& w) const {
    std::pair<double, size_t> least{kNever, 0};
    for (size_t k = 0; k < kinds(); ++k) {
      if (!can_be(node, k)) continue;
      const double share = w[k] > 0 ? w[k] * us(node, k) : 0;
      if (share < least.first) least = {share, k};
    }
    return least.first < kNever ? least : std::pair{0.0, size_t{0}};
  }

  // start_[node * kinds + k]: the least until it may start on a device of that kind; early_: on any.
  void find_starts() {
    find_weights();
    shares_.assign(size_t{p_.num_nodes} * weights_.size(), 0);
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      for (size_t w = 0; w < weights_.size(); ++w) shares_[n * weights_.size() + w] = least_share(n, weights_[w]).first;
    }
    start_.assign(size_t{p_.num_nodes} * kinds(), 0);
    early_.assign(p_.num_nodes, 0);
    seen_.assign(p_.num_nodes, ~uint32_t{0});
    const size_t most_looked = std::clamp<size_t>(kMostSteps / std::max<uint32_t>(1, p_.num_nodes), 40, 1000);
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      const double work = p_.inputs.of(n).size() > 1 && !budget_.look() ? work_before(n, most_looked) : 0;
      double early = kNever;
      for (size_t k = 0; k < kinds(); ++k) {
        double& start = start_[n * kinds() + k];
        start = work;
        for (const Use& use : p_.inputs.of(n)) start = std::max(start, arrival(use, k));
        if (can_be(n, k)) early = std::min(early, start);
      }
      early_[n] = early == kNever ? work : early;
    }
  }

  double arrival(const Use& use, size_t kind) const {
    const uint32_t source = p_.tensors[use.tensor].node;
    double least = kNever;
    for (size_t k = 0; k < kinds(); ++k) {
      if (!can_be(source, k)) continue;
      least = std::min(least, start_[source * kinds() + k] + us(source, k) + way_us(use, k, kind));
    }
    return least;
  }

  // Of what a node waits for, the latest first: from the earliest that one of them may start, the machine has all of
  // these to do before the node.
  double work_before(uint32_t node, size_t most_looked) {
    std::priority_queue<std::pair<double, uint32_t>> latest;
    const auto push_sources = [&](uint32_t n) {
      for (const Use& use : p_.inputs.of(n)) {
        const uint32_t source = p_.tensors[use.tensor].node;
        if (seen_[source] == node) continue;
        seen_[source] = node;
        latest.emplace(early_[source], source);
      }
    };
    push_sources(node);
    std::vector<double> sums(weights_.size());
    double most = 0;
    for (size_t i = 0; i < most_looked && !latest.empty(); ++i) {
      const auto [from, n] = latest.top();
      latest.pop();
      most = std::max(most, from + add_shares(n, sums));
      push_sources(n);
    }
    return most;
  }

  double add_shares(uint32_t node, std::vector<double>& sums) const {
    double most = 0;
    for (size_t w = 0; w < sums.size(); ++w) most = std::max(most, sums[w] += shares_[node * sums.size() + w]);
    return most;
  }

  // From a node's end on a kind of device to that of the step.
  void find_tails() {
    tail_.assign(size_t{p_.num_nodes} * kinds(), 0);
    for (uint32_t n = p_.num_nodes; n-- > 0;) {
      for (uint32_t t : p_.outputs.of(n)) {
        for (const Use& use : p_.readers.of(t)) {
          for (size_t k = 0; k < kinds(); ++k) {
            double least = kNever;
            for (size_t to = 0; to < kinds(); ++to) {
              if (!can_be(use.node, to)) continue;
              least = std::min(least, way_us(use, k, to) + us(use.node, to) + tail_[use.node * kinds() + to]);
            }
            double& tail = tail_[n * kinds() + k];
            tail = std::max(tail, least);
          }
        }
      }
    }
  }

  double through_us(uint32_t node, size_t kind) const {
    return start_[node * kinds() + kind] + us(node, kind) + tail_[node * kinds() + kind];
  }
  double longest_through(uint32_t node) const {
    double least = kNever;
    for (size_t k = 0; k < kinds(); ++k) {
      if (can_be(node, k)) least = std::min(least, through_us(node, k));
    }
    return least;
  }

  // All that cannot begin before a time lies between it and the end.
  double work_from_late_nodes() const {
    std::vector<uint32_t> nodes(p_.num_nodes);
    for (uint32_t n = 0; n < p_.num_nodes; ++n) nodes[n] = n;
    std::sort(nodes.begin(), nodes.end(), [&](uint32_t a, uint32_t b) { return early_[a] > early_[b]; });
    std::vector<double> sums(weights_.size());
    double most = 0;
    for (const uint32_t n : nodes) most = std::max(most, early_[n] + add_shares(n, sums));
    return most;
  }

  void forbid_late_devices(uint32_t node) {
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      if (through_us(node, kinds_.of[d]) >= below_us_) allowed_[node] &= ~(uint64_t{1} << d);
    }
  }

  static constexpr size_t kMostSteps = 3'000'000;
  const Problem& p_;
  const double below_us_;
  Budget& budget_;
  const DeviceKinds kinds_;
  std::vector<uint64_t> allowed_;  // by node: where it can be in such an assignment
  std::vector<double> capacity_;   // by kind: lanes of all its devices; 0: without limit
  std::vector<Weights> weights_;
  std::vector<double> shares_;  // node * weights: what it takes at least by those
  std::vector<double> start_, tail_, early_;
  std::vector<uint32_t> seen_;
};

}  // namespace

double work_bound_us(const Problem& problem, double below_us, Budget& budget) {
  return problem.num_nodes == 0 ? 0 : WorkBound(problem, below_us, budget).best();
}

}  // namespace emplace::autoplace
