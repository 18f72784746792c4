#include "core/place/auto/contiguous.h"

#include <algorithm>

namespace emplace::autoplace {
namespace {

/// Places where an order may be cut: fewer in large graphs, for each of which the whole order is walked through.
size_t most_cuts(const Problem& p) {
  constexpr size_t kMost = 600, kLeast = 50, kSteps = 10'000'000;
  return std::clamp(kSteps / (p.uses.size() + p.num_groups + 1), kLeast, kMost);
}

/// What runs of an order cost on one device, for all of its cuts.
class RunCosts {
 public:
  RunCosts(const Problem& p, const GroupOrder& order, const std::vector<size_t>& cuts, uint16_t device)
      : p_(p), order_(order), device_(device), cuts_(cuts.size()), us_(cuts.size() * cuts.size(), kNever) {
    inside_.resize(p.num_groups), inner_readers_.resize(p.tensors.size()), makers_.resize(p.tensors.size());
    for (uint32_t t = 0; t < p.tensors.size(); ++t) {
      in_us_.push_back(p.machine.units[device].gpu ? p.copy_us(t, p.machine.host, device) : 0);
      out_us_.push_back(p.machine.units[device].gpu ? p.copy_us(t, device, p.machine.host) : 0);
    }
    for (size_t from = 0; from + 1 < cuts.size(); ++from) grow(cuts, from);
  }
  /// From one cut to a later one; kNever: does not fit.
  double us(size_t from, size_t to) const { return us_[from * cuts_ + to]; }

 private:
  // Counters are of the run that grows, with its number, so that none has to be cleared.
  struct Counter {
    size_t run = 0;
    uint32_t count = 0;
  };
  uint32_t count(const Counter& c) const { return c.run == run_ ? c.count : 0; }
  uint32_t raise(Counter& c) const { return c = {run_, count(c) + 1}, c.count; }

  void grow(const std::vector<size_t>& cuts, size_t from) {
    ++run_;
    double us = 0, bytes = 0;
    copies_ = 0;
    const double limit = p_.machine.units[device_].memory;
    for (size_t to = from + 1; to < cuts.size(); ++to) {
      for (size_t i = cuts[to - 1]; i < cuts[to]; ++i) {
        const uint32_t g = order_[i];
        if (!p_.can_be(g, device_)) continue;  // is elsewhere in any case
        us += p_.group_us_on(g, device_), bytes += p_.group_memory(g, device_);
        if (p_.machine.units[device_].gpu) add_group(g);
      }
      if (limit > 0 && bytes > limit) return;
      us_[from * cuts_ + to] = us + copies_;
    }
  }

  // A tensor that is made inside and read outside goes out, one that is made outside and read inside comes in.
  double crossing(uint32_t t) const {
    const uint32_t readers = static_cast<uint32_t>(p_.readers.of(t).size()), inner = count(inner_readers_[t]);
    if (count(makers_[t]) > 0) return inner < readers ? out_us_[t] : 0;
    return inner > 0 ? in_us_[t] : 0;
  }

  void add_group(uint32_t g) {
    raise(inside_[g]);
    for (uint32_t t : p_.touching.of(g)) {
      copies_ -= crossing(t);
      if (p_.group[p_.tensors[t].node] == g) raise(makers_[t]);
      for (const Use& use : p_.readers.of(t)) {
        if (p_.group[use.node] == g) raise(inner_readers_[t]);
      }
      copies_ += crossing(t);
    }
  }

  const Problem& p_;
  const GroupOrder& order_;
  const uint16_t device_;
  const size_t cuts_;
  std::vector<double> us_, in_us_, out_us_;
  std::vector<Counter> inside_, inner_readers_, makers_;
  size_t run_ = 0;
  double copies_ = 0;
};

std::vector<size_t> cuts_of(size_t groups, size_t most) {
  std::vector<size_t> cuts;
  const size_t step = (groups + most - 1) / most;
  for (size_t i = 0; i < groups; i += step) cuts.push_back(i);
  cuts.push_back(groups);
  return cuts;
}

class Cutter {
 public:
  Cutter(const Problem& p, const GroupOrder& order, bool host_first)
      : p_(p), order_(order), cuts_(cuts_of(order.size(), most_cuts(p))), sums_(p.goal == Goal::kLatency) {
    for (uint16_t d = 0; d < p.devices(); ++d) {
      if (p.machine.units[d].gpu) sequence_.push_back(d);
    }
    if (!sums_) sequence_.insert(host_first ? sequence_.begin() : sequence_.end(), p.machine.host);
    costs_of_.resize(p.devices(), 0);
    for (uint16_t d : sequence_) add_costs(d);
    add_costs(p.machine.host);
  }

  std::optional<Assignment> best() {
    const size_t width = sequence_.size() + 1;
    best_.assign(cuts_.size() * width, {});
    best_[0].us = 0;
    for (size_t from = 0; from + 1 < cuts_.size(); ++from) {
      for (size_t used = 0; used < width; ++used) {
        if (best_[from * width + used].us < kNever) extend(from, used, width);
      }
    }
    size_t at = (cuts_.size() - 1) * width;
    for (size_t used = 1; used < width; ++used) {
      if (best_[(cuts_.size() - 1) * width + used].us < best_[at].us) at = (cuts_.size() - 1) * width + used;
    }
    if (best_[at].us == kNever) return {};
    return read_back(at, width);
  }

 private:
  struct Cell {
    double us = kNever;
    size_t before = 0;  // cell
    uint16_t device = 0;
  };

  void add_costs(uint16_t d) {
    const uint16_t kind = p_.device_class[d];
    for (size_t i = 0; i < costs_.size(); ++i) {
      if (kinds_[i] == kind) costs_of_[d] = i;
      if (kinds_[i] == kind) return;
    }
    costs_of_[d] = costs_.size();
    kinds_.push_back(kind);
    costs_.emplace_back(p_, order_, cuts_, d);
  }

  void extend(size_t from, size_t used, size_t width) {
    const size_t cell = from * width + used;
    const double so_far = best_[cell].us;
    const auto offer = [&](uint16_t device, size_t next_used) {
      const RunCosts& costs = costs_[costs_of_[device]];
      const int lanes = std::max(1, p_.machine.units[device].lanes);
      for (size_t to = from + 1; to < cuts_.size(); ++to) {
        const double run = costs.us(from, to);
        if (run == kNever) break;
        const double us = sums_ ? so_far + run : std::max(so_far, run / lanes);
        Cell& there = best_[to * width + next_used];
        if (us < there.us) there = {us, cell, device};
      }
    };
    if (sums_) offer(p_.machine.host, used);
    for (size_t next = used; next < sequence_.size(); ++next) {
      // Of devices that are alike, the first one that is left; others may be passed over.
      if (next > used && p_.device_class[sequence_[next]] == p_.device_class[sequence_[next - 1]]) continue;
      offer(sequence_[next], next + 1);
    }
  }

  Assignment read_back(size_t at, size_t width) const {
    Assignment made(p_.num_groups);
    for (uint32_t g = 0; g < p_.num_groups; ++g) made[g] = fallback_of(p_, g);
    while (at / width > 0) {
      const Cell& cell = best_[at];
      for (size_t i = cuts_[cell.before / width]; i < cuts_[at / width]; ++i) {
        if (p_.can_be(order_[i], cell.device)) made[order_[i]] = cell.device;
      }
      at = cell.before;
    }
    return made;
  }

  const Problem& p_;
  const GroupOrder& order_;
  const std::vector<size_t> cuts_;
  const bool sums_;
  std::vector<uint16_t> sequence_;  // devices, in the order in which runs may take them
  std::vector<uint16_t> kinds_;
  std::vector<RunCosts> costs_;   // by kind
  std::vector<size_t> costs_of_;  // by device
  std::vector<Cell> best_;        // cut * width + devices used
};

}  // namespace

uint16_t fallback_of(const Problem& p, uint32_t group) {
  return p.can_be(group, p.machine.host) ? p.machine.host : p.original[group];
}

std::optional<Assignment> contiguous(const Problem& p, const GroupOrder& order, bool host_first) {
  if (order.empty()) return {};
  std::optional<Assignment> made = Cutter(p, order, host_first).best();
  if (made && !p.fits(*made)) return {};
  return made;
}

Assignment filled_in_order(const Problem& p, const GroupOrder& order) {
  Assignment made(p.num_groups);
  std::vector<double> used(p.devices());
  std::vector<uint16_t> gpus;
  for (uint16_t d = 0; d < p.devices(); ++d) {
    if (p.machine.units[d].gpu) gpus.push_back(d);
  }
  size_t next = 0;
  for (uint32_t g : order) {
    made[g] = fallback_of(p, g);
    for (size_t i = next; i < gpus.size(); ++i) {
      const uint16_t d = gpus[i];
      if (!p.can_be(g, d)) continue;
      const double limit = p.machine.units[d].memory;
      if (limit > 0 && used[d] + p.group_memory(g, d) > limit) continue;
      made[g] = d, next = i;
      break;
    }
    used[made[g]] += p.group_memory(g, made[g]);
  }
  return made;
}

}  // namespace emplace::autoplace
