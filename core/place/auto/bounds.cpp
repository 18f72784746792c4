#include "core/place/auto/bounds.h"

#include <algorithm>
#include <cmath>

#include "core/place/auto/device_kinds.h"
#include "core/place/auto/jobs.h"
#include "core/place/auto/work_bound.h"

namespace emplace::autoplace {
namespace {

double fastest_us(const Problem& p, uint32_t node) {
  double least = kNever;
  for (uint16_t d = 0; d < p.devices(); ++d) {
    if (p.can_be(p.group[node], d)) least = std::min(least, p.node_us(node, d));
  }
  return least;
}

class SegmentBound {
 public:
  explicit SegmentBound(const Problem& p) : p_(p), kinds_(p), weight_(p.num_nodes), came_by_(p.num_nodes) {
    edge_us_.resize(p.tensors.size());
    for (uint32_t t = 0; t < p.tensors.size(); ++t) edge_us_[t] = widest_way(t);
    for (uint32_t n = 0; n < p.num_nodes; ++n) {
      total_us_ += fastest_us(p_, n);
      double bytes = 0;
      for (uint16_t d : kinds_.firsts) bytes = std::max(bytes, p_.group_memory(p_.group[n], d));
      bytes_.push_back(bytes / static_cast<double>(std::max<size_t>(1, p_.members.of(p_.group[n]).size())));
      total_bytes_ += bytes_.back();
    }
    for (double us : edge_us_) total_edges_ += us;
  }

  double best(Budget& budget) {
    constexpr int kPaths = 400;
    constexpr double kMostSteps = 8e7;
    Dice dice(400);
    double most = 0, steps = 0;
    for (int i = 0; i < kPaths && steps < kMostSteps && !budget.look(); ++i) {
      // Time alone, then with copies, with memory, then mixtures.
      const double time = i < 3 ? 1 : dice.share(), edges = i == 1 ? 1 : i < 3 ? 0 : std::pow(dice.share(), 3);
      const double bytes = i == 2 ? 1 : i < 3 ? 0 : std::pow(dice.share(), 3);
      find_path(time, edges, bytes);
      most = std::max(most, cut_at_best());
      steps += static_cast<double>(path_.size() * path_.size() * kinds_.firsts.size() + 20 * p_.num_nodes);
    }
    return most;
  }

 private:
  // The longest of ways between kinds of devices: for choosing paths only.
  double widest_way(uint32_t tensor) const {
    double most = 0;
    for (uint16_t a : kinds_.firsts) {
      for (uint16_t b : kinds_.seconds) {
        const double us = p_.way_us(tensor, a, b);
        if (std::isfinite(us)) most = std::max(most, us);
      }
    }
    return most;
  }

  void find_path(double time, double edges, double bytes) {
    const double per_us = time / std::max(total_us_, 1e-9), per_edge = edges / std::max(total_edges_, 1e-9),
                 per_byte = bytes / std::max(total_bytes_, 1e-9);
    uint32_t last = 0;
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      double before = 0;
      came_by_[n] = nullptr;
      for (const Use& use : p_.inputs.of(n)) {
        const double through = weight_[p_.tensors[use.tensor].node] + edge_us_[use.tensor] * per_edge;
        if (came_by_[n] && through <= before) continue;
        before = through, came_by_[n] = &use;
      }
      weight_[n] = before + fastest_us(p_, n) * per_us + bytes_[n] * per_byte;
      if (weight_[n] > weight_[last]) last = n;
    }
    path_.clear(), ways_.clear();
    for (uint32_t n = last;;) {
      path_.push_back(n), ways_.push_back(came_by_[n]);
      if (!came_by_[n]) break;
      n = p_.tensors[came_by_[n]->tensor].node;
    }
    std::reverse(path_.begin(), path_.end());
    std::reverse(ways_.begin(), ways_.end());
  }

  // The least that the tensor of `use` takes from a device of kind a to another one of kind b.
  double change_us(const Use& use, size_t a, size_t b) const {
    if (a == b && kinds_.counts[a] < 2) return kNever;
    const uint16_t from = p_.made_in(use.tensor, kinds_.firsts[a]);
    const uint16_t to = p_.machine.memory_of(a == b ? kinds_.seconds[b] : kinds_.firsts[b], use.host_on_gpu);
    return p_.way_us(use.tensor, from, to);
  }

  // Where a device keeps an input in another memory than the one it was made in, a copy stands between.
  double stay_us(const Use& use, size_t kind) const {
    const uint16_t d = kinds_.firsts[kind];
    return p_.way_us(use.tensor, p_.made_in(use.tensor, d), p_.machine.memory_of(d, use.host_on_gpu));
  }

  double cut_at_best() {
    constexpr size_t kLongest = 3000;  // the work grows with the square
    const size_t length = path_.size(), kinds = kinds_.firsts.size();
    if (length > kLongest) return 0;
    // enter[i * kinds + c]: the least until node i of the path may start on a device of kind c that it enters there.
    std::vector<double> enter(length * kinds, kNever), leave(length * kinds, kNever);
    std::vector<uint32_t> seen(p_.num_groups, 0);
    uint32_t round = 0;
    for (size_t i = 0; i < length; ++i) {
      for (size_t c = 0; c < kinds; ++c) {
        double& in = enter[i * kinds + c];
        if (i == 0) in = 0;
        for (size_t from = 0; i > 0 && from < kinds; ++from)
          in = std::min(in, leave[(i - 1) * kinds + from] + change_us(*ways_[i], from, c));
        if (in < kNever) run_from(i, c, in, leave, seen, ++round);
      }
    }
    double least = kNever;
    for (size_t c = 0; c < kinds; ++c) least = std::min(least, leave[(length - 1) * kinds + c]);
    return least == kNever ? 0 : least;
  }

  // Runs on one device from node i of the path on, as far as its memory goes.
  void run_from(size_t i, size_t kind, double us, std::vector<double>& leave, std::vector<uint32_t>& seen,
                uint32_t round) const {
    const uint16_t d = kinds_.firsts[kind];
    const double limit = p_.machine.units[d].memory;
    double bytes = 0;
    for (size_t j = i; j < path_.size(); ++j) {
      const uint32_t g = p_.group[path_[j]];
      if (!p_.can_be(g, d)) return;
      if (seen[g] != round) bytes += p_.group_memory(g, d);
      seen[g] = round;
      if (limit > 0 && bytes > limit) return;
      us += p_.node_us(path_[j], d) + (j > i ? stay_us(*ways_[j], kind) : 0);
      double& out = leave[j * kind_count() + kind];
      // Without limits, a run that comes here at least as early goes on as well.
      if (limit <= 0 && out <= us) return;
      out = std::min(out, us);
    }
  }
  size_t kind_count() const { return kinds_.firsts.size(); }

  const Problem& p_;
  const DeviceKinds kinds_;
  std::vector<double> edge_us_, bytes_, weight_;
  std::vector<const Use*> came_by_;
  double total_us_ = 0, total_bytes_ = 0, total_edges_ = 0;
  std::vector<uint32_t> path_;
  std::vector<const Use*> ways_;
};

}  // namespace

double critical_path_us(const Problem& p) {
  std::vector<double> end(p.num_nodes);
  double longest = 0;
  for (uint32_t n = 0; n < p.num_nodes; ++n) {
    double start = 0;
    for (const Use& use : p.inputs.of(n)) start = std::max(start, end[p.tensors[use.tensor].node]);
    end[n] = start + fastest_us(p, n);
    longest = std::max(longest, end[n]);
  }
  return longest;
}

double segment_bound_us(const Problem& p, Budget& budget) {
  return p.num_nodes == 0 ? 0 : SegmentBound(p).best(budget);
}

double all_work_us(const Problem& p) {
  double sum = 0;
  for (uint32_t g = 0; g < p.num_groups; ++g) {
    double least = kNever;
    for (uint16_t d = 0; d < p.devices(); ++d) {
      if (p.can_be(g, d)) least = std::min(least, p.group_us_on(g, d));
    }
    sum += least;
  }
  return sum;
}

Bound lower_bound(const Problem& p, Budget& budget, double known_us) {
  Bound best;
  const auto raise = [&](double us, const char* name) {
    if (us > best.us) best = {us, name};
  };
  if (p.goal == Goal::kLatency) {
    raise(critical_path_us(p), "critical path");
    raise(segment_bound_us(p, budget), "segments");
  }
  const Bound known = bound_below(p, budget, known_us);
  raise(known.us, known.name);
  if (p.machine.threads > 0) raise(all_work_us(p) / p.machine.threads, "all work");
  // Sums in another order differ in their last digits: a bound must not pass what it bounds for that.
  best.us *= 1 - 1e-12;
  return best;
}

Bound bound_below(const Problem& p, Budget& budget, double known_us) {
  Bound best;
  const auto raise = [&](double us, const char* name) {
    if (us > best.us) best = {us * (1 - 1e-12), name};
  };
  const Jobs jobs(p, known_us);
  raise(jobs.largest_us(), "largest group");
  raise(jobs.fractional_us(budget), "fractional");
  raise(jobs.packed_us(), "packing");
  if (p.goal == Goal::kLatency && !budget.cut()) raise(work_bound_us(p, known_us, budget), "work");
  return best;
}

}  // namespace emplace::autoplace
