#include "core/place/auto/anneal.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/place/auto/loads.h"
#include "core/place/auto/simulator.h"

namespace emplace::autoplace {
namespace {

struct Change {
  uint32_t group;
  uint16_t device;
};

/// What is where, what memory that takes, and how good it is.
class State {
 public:
  State(const Problem& p, const Assignment& at) : p_(p), at_(at), used_(p.devices()) {
    for (uint32_t g = 0; g < p.num_groups; ++g) used_[at[g]] += p.group_memory(g, at[g]);
    if (p.goal == Goal::kThroughput) loads_ = std::make_unique<Loads>(p, at);
    if (p.goal == Goal::kLatency) simulator_ = std::make_unique<Simulator>(p);
  }
  const Assignment& at() const { return at_; }

  /// False, and nothing is changed: the memory does not allow it. Swaps what is where with `changes`.
  bool apply(std::vector<Change>& changes) {
    swap(changes);
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      const double limit = p_.machine.units[d].memory;
      if (limit > 0 && used_[d] > limit * (1 + 1e-12)) return swap(changes), false;
    }
    if (loads_) move_loads(changes);
    return true;
  }
  void take_back(std::vector<Change>& changes) {
    swap(changes);
    if (loads_) move_loads(changes);
  }
  /// What the search makes small.
  double energy(double limit) { return loads_ ? loads_->energy() : simulator_->run(at_, limit); }
  double value(double energy) const { return loads_ ? loads_->value() : energy; }

 private:
  void swap(std::vector<Change>& changes) {
    // Backwards and forwards in turn: a group that is listed twice comes out as it was.
    std::reverse(changes.begin(), changes.end());
    for (Change& c : changes) {
      used_[at_[c.group]] -= p_.group_memory(c.group, at_[c.group]);
      std::swap(at_[c.group], c.device);
      used_[at_[c.group]] += p_.group_memory(c.group, at_[c.group]);
    }
  }
  void move_loads(const std::vector<Change>& changes) {
    for (const Change& c : changes) loads_->move(c.group, at_[c.group]);
  }

  const Problem& p_;
  Assignment at_;
  std::vector<double> used_;
  std::unique_ptr<Loads> loads_;
  std::unique_ptr<Simulator> simulator_;
};

class Moves {
 public:
  Moves(const Problem& p, const std::vector<GroupOrder>& orders, Dice& dice)
      : p_(p), orders_(orders), dice_(dice), seen_(p.num_groups) {}

  /// May propose nothing.
  void propose(const Assignment& at, std::vector<Change>& changes) {
    changes.clear();
    const double kind = dice_.share();
    if (kind < 0.35) {
      const uint32_t g = any_free();
      add(at, g, target(at, g), changes);
    } else if (kind < 0.55) {
      region(at, changes);
    } else if (kind < 0.70) {
      run(at, changes);
    } else if (kind < 0.90) {
      border(at, changes);
    } else {
      swap(at, changes);
    }
  }

 private:
  uint32_t any_free() { return p_.free_groups[dice_.below(static_cast<uint32_t>(p_.free_groups.size()))]; }
  void add(const Assignment& at, uint32_t g, uint16_t d, std::vector<Change>& changes) const {
    if (at[g] != d && p_.can_be(g, d)) changes.push_back({g, d});
  }
  uint16_t any_device(uint32_t g) {
    for (;;) {
      const auto d = static_cast<uint16_t>(dice_.below(static_cast<uint32_t>(p_.devices())));
      if (p_.can_be(g, d)) return d;
    }
  }
  uint16_t target(const Assignment& at, uint32_t g) {
    const auto near = p_.neighbours.of(g);
    if (!near.empty() && dice_.share() < 0.8) return at[near[dice_.below(static_cast<uint32_t>(near.size()))]];
    return any_device(g);
  }
  /// Mostly small.
  size_t size_up_to(size_t most) {
    return 1 + static_cast<size_t>(std::pow(static_cast<double>(std::max<size_t>(1, most)), dice_.share()));
  }
  const GroupOrder& any_order() { return orders_[dice_.below(static_cast<uint32_t>(orders_.size()))]; }

  // Neighbours of a group on its device, and their neighbours, go where one of them has a neighbour.
  void region(const Assignment& at, std::vector<Change>& changes) {
    const uint32_t start = any_free();
    const size_t most = size_up_to(p_.free_groups.size() / 3);
    ++round_;
    grown_.assign(1, start);
    seen_[start] = round_;
    for (size_t i = 0; i < grown_.size() && grown_.size() < most; ++i) {
      for (uint32_t other : p_.neighbours.of(grown_[i])) {
        if (seen_[other] == round_ || at[other] != at[start] || grown_.size() >= most) continue;
        seen_[other] = round_;
        grown_.push_back(other);
      }
    }
    const uint32_t last = grown_[dice_.below(static_cast<uint32_t>(grown_.size()))];
    uint16_t to = target(at, last);
    for (int tries = 0; to == at[start] && tries < 3; ++tries)
      to = target(at, grown_[dice_.below(static_cast<uint32_t>(grown_.size()))]);
    for (uint32_t g : grown_) add(at, g, to, changes);
  }

  void run(const Assignment& at, std::vector<Change>& changes) {
    const GroupOrder& order = any_order();
    const size_t first = dice_.below(static_cast<uint32_t>(order.size())), length = size_up_to(order.size() / 3);
    const uint16_t to = target(at, order[first]);
    for (size_t i = first; i < std::min(order.size(), first + length); ++i) add(at, order[i], to, changes);
  }

  // Groups before or behind a change of devices go over it.
  void border(const Assignment& at, std::vector<Change>& changes) {
    const GroupOrder& order = any_order();
    if (order.size() < 2) return;
    size_t i = 1 + dice_.below(static_cast<uint32_t>(order.size() - 1));
    for (size_t looked = 0; at[order[i]] == at[order[i - 1]]; ++looked) {
      if (looked == order.size()) return;
      i = i + 1 < order.size() ? i + 1 : 1;
    }
    const size_t length = size_up_to(order.size() / 8);
    const uint16_t before = at[order[i - 1]], behind = at[order[i]];
    if (dice_.below(2) == 0) {
      for (size_t k = i; k < std::min(order.size(), i + length) && at[order[k]] == behind; ++k)
        add(at, order[k], before, changes);
    } else {
      for (size_t k = i; k-- > (i > length ? i - length : 0) && at[order[k]] == before;)
        add(at, order[k], behind, changes);
    }
  }

  void swap(const Assignment& at, std::vector<Change>& changes) {
    const uint32_t a = any_free();
    const auto near = p_.neighbours.of(a);
    const bool nearby = !near.empty() && dice_.share() < 0.5;
    const uint32_t b = nearby ? near[dice_.below(static_cast<uint32_t>(near.size()))] : any_free();
    if (at[a] == at[b]) return;
    if (dice_.share() < 0.1) {  // all that is on the two devices
      for (uint32_t g : p_.free_groups) {
        if (at[g] == at[a]) add(at, g, at[b], changes);
        if (at[g] == at[b]) add(at, g, at[a], changes);
      }
      return;
    }
    add(at, a, at[b], changes);
    add(at, b, at[a], changes);
  }

  const Problem& p_;
  const std::vector<GroupOrder>& orders_;
  Dice& dice_;
  std::vector<uint64_t> seen_;
  uint64_t round_ = 0;
  std::vector<uint32_t> grown_;
};

}  // namespace

double value_of(const Problem& p, const Assignment& at) {
  return p.goal == Goal::kThroughput ? Loads(p, at).value() : Simulator(p).run(at);
}

Found anneal(const Problem& p, const std::vector<GroupOrder>& orders, const Found& start, double temperature,
             int64_t evaluations, Budget& budget, Dice& dice) {
  Found best = start;
  if (p.free_groups.empty() || start.us <= 0) return best;
  State state(p, start.at);
  Moves moves(p, orders, dice);
  std::vector<Change> changes;
  double now = state.energy(kNever);
  const double hot = temperature * start.us, cold = 1e-4 * start.us;
  int64_t idle = 0;
  for (int64_t i = 0; i < evaluations;) {
    moves.propose(state.at(), changes);
    if (changes.empty() || !state.apply(changes)) {
      // Where hardly a move is left to make.
      if (++idle > 200 * evaluations || ((idle & 1023) == 0 && budget.look())) break;
      continue;
    }
    if (!budget.take()) break;
    const double done = static_cast<double>(i++) / static_cast<double>(evaluations);
    const double heat = hot * std::pow(cold / hot, done);
    const double limit = now - heat * std::log(1 - dice.share());
    const double energy = state.energy(std::nextafter(limit, kNever));
    if (energy > limit) {
      state.take_back(changes);
      continue;
    }
    now = energy;
    if (const double us = state.value(energy); us < best.us) best = {state.at(), us};
  }
  return best;
}

}  // namespace emplace::autoplace
