#include "core/place/auto/solve.h"

#include <algorithm>
#include <cmath>

#include "core/place/auto/coarse.h"
#include "core/place/auto/contiguous.h"
#include "core/place/auto/exact.h"
#include "core/place/auto/list_schedule.h"
#include "core/place/auto/loads.h"

namespace emplace::autoplace {
namespace {

constexpr int64_t kSchedules = 20'000, kLoads = 2'000'000;
constexpr int64_t kFewestSchedules = 200, kFewestLoads = 4'000;
constexpr double kNoGain = 0.02;
/// Larger problems are searched small first, of about so many nodes.
constexpr uint32_t kLarge = 1000, kCoarse = 400;

class Solver {
 public:
  Solver(const Problem& p, const SolveOptions& o)
      : p_(p), o_(o), budget_(evaluations(), o.time_limit_s, o.stop, long_evaluations()), dice_(o.seed) {}

  Solution run() {
    find_orders();
    if (is_large()) search_small(nullptr);
    find_starts();
    if (is_large() && best_.us < kNever) search_small(&best_.at);
    made_.bound = lower_bound(p_, budget_, best_.us);
    bool exact = false;
    if (o_.exact && p_.free_groups.size() <= kMostExactGroups) exact = find_exact(p_, budget_, best_);
    if (!exact) search();
    drop_needless_work();
    if (!exact) raise_bound();
    conclude(exact);
    return std::move(made_);
  }

 private:
  /// The search alone, without bound and verdict: from `at`, or from starts of its own.
  Solution run_search(const Assignment* at) {
    find_orders();
    if (at) {
      add_start(Start::Kind::kCoarse, *at);
    } else {
      find_starts();
    }
    search();
    made_.found = best_;
    made_.evaluations = budget_.done();
    return std::move(made_);
  }

  bool is_large() const { return p_.num_nodes > kLarge && !p_.free_groups.empty(); }
  void find_orders() { orders_ = group_orders(p_, std::max(0, orders_to_cut() - kPlainOrders), o_.seed); }

  bool long_evaluations() const { return p_.goal == Goal::kLatency && p_.num_nodes >= 500; }

  // Of large graphs an evaluation takes longer, and fewer of them show something new: a second for 2,000 nodes. Who
  // says how long it may take wants all that can be had in that time.
  int64_t evaluations() const {
    if (o_.evaluations > 0) return o_.evaluations;
    const bool loads = p_.goal == Goal::kThroughput;
    if (o_.time_limit_s > 0) return loads ? kLoads : kSchedules;
    const double size = std::pow(std::max(1.0, p_.num_nodes / 1000.0), 5);
    const int64_t scaled = static_cast<int64_t>(static_cast<double>(loads ? kLoads : kSchedules) / size);
    return std::max<int64_t>(loads ? kFewestLoads : kFewestSchedules, scaled);
  }

  int64_t small_evaluations(const Problem& small) const {
    constexpr double kMostSteps = 1.5e6, kLoadsPerSchedule = 20;
    const double steps = kMostSteps * (p_.goal == Goal::kThroughput ? kLoadsPerSchedule : 1);
    return std::max<int64_t>(100, static_cast<int64_t>(steps / small.num_nodes));
  }

  /// Linear orders to cut: so many that the cuts take seconds at most.
  int orders_to_cut() const {
    constexpr double kMostSteps = 2e7;
    constexpr int kFewest = 2, kMost = 25;
    const double cuts = std::min<double>(600, p_.num_groups);
    const double steps = std::max(1.0, static_cast<double>(p_.uses.size() + p_.num_nodes) * cuts);
    return static_cast<int>(std::clamp<double>(kMostSteps / steps, kFewest, kMost));
  }

  void add_start(Start::Kind kind, Assignment at, uint16_t device = 0) {
    Start start{kind, device, {std::move(at), kNever}, true, 0};
    for (auto d = static_cast<uint16_t>(p_.devices()); d-- > 0;) {
      const double limit = p_.machine.units[d].memory;
      if (limit > 0 && p_.memory_used(start.found.at, d) > limit) start.fits = false, start.over = d;
    }
    budget_.take();
    start.found.us = value_of(p_, start.found.at);
    if (start.fits && start.found.us < best_.us) best_ = start.found;
    made_.starts.push_back(std::move(start));
  }

  // Chains and scopes as one node each: what is found there, and the best cut of an order into runs. With `at`, which
  // is the best so far: only what it has on one device becomes one, and the search goes on from it.
  void search_small(const Assignment* at) {
    if (budget_.look()) return;
    const Coarse coarse = coarsened(p_, (p_.num_nodes + kCoarse - 1) / kCoarse, at);
    if (coarse.problem.num_nodes * 2 > p_.num_nodes) return;  // nearly as large
    SolveOptions o = o_;
    if (o.time_limit_s > 0) o.time_limit_s = std::max(1e-3, (o.time_limit_s - budget_.seconds()) / 4);
    o.evaluations = small_evaluations(coarse.problem);
    const Assignment small_at = at ? coarse.shrunk(*at) : Assignment{};
    const Solution small = Solver(coarse.problem, o).run_search(at ? &small_at : nullptr);
    small_evaluations_ += small.evaluations;
    for (const Start& s : small.starts) {
      if (s.kind == Start::Kind::kContiguous) small_.push_back({s.kind, coarse.expanded(s.found.at)});
    }
    if (small.found.us == kNever) return;
    if (at) {  // no worse than what was found first
      std::erase_if(made_.starts, [](const Start& s) { return s.kind == Start::Kind::kCoarse; });
      return add_start(Start::Kind::kCoarse, coarse.expanded(small.found.at));
    }
    small_.push_back({Start::Kind::kCoarse, coarse.expanded(small.found.at)});
  }

  void find_starts() {
    add_start(Start::Kind::kOriginal, p_.original);
    Assignment at(p_.num_groups);
    for (uint32_t g = 0; g < p_.num_groups; ++g) at[g] = fallback_of(p_, g);
    add_start(Start::Kind::kHost, at, p_.machine.host);
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      if (d == p_.machine.host || p_.device_class[d] != d) continue;
      for (uint32_t g = 0; g < p_.num_groups; ++g) at[g] = p_.can_be(g, d) ? d : fallback_of(p_, g);
      add_start(Start::Kind::kDevice, at, d);
    }
    if (p_.free_groups.empty() || budget_.look()) return;
    if (p_.goal == Goal::kLatency) {
      add_start(Start::Kind::kHeft, list_schedule(p_, ListRule::kHeft, budget_));
      if (budget_.look()) return;
      add_start(Start::Kind::kPeft, list_schedule(p_, ListRule::kPeft, budget_));
      if (budget_.look()) return;
    }
    add_start(Start::Kind::kFilled, filled_in_order(p_, orders_.front()));
    if (small_.empty()) find_contiguous();
    for (auto& [kind, found] : small_) add_start(kind, std::move(found));
  }

  void find_contiguous() {
    Found best;
    const auto most = std::min(orders_.size(), static_cast<size_t>(orders_to_cut()));
    for (size_t i = 0; i < most; ++i) {
      for (bool host_first : {false, true}) {
        if (budget_.look() || (host_first && p_.goal == Goal::kLatency)) break;
        std::optional<Assignment> at = contiguous(p_, orders_[i], host_first);
        if (!at || !budget_.take()) continue;
        const double us = value_of(p_, *at);
        if (us < best.us) best = {std::move(*at), us};
      }
    }
    if (best.us < kNever) add_start(Start::Kind::kContiguous, std::move(best.at));
  }

  void search() {
    std::vector<Found> from;
    for (const Start& s : made_.starts) {
      const bool known = std::any_of(from.begin(), from.end(), [&](const Found& f) { return f.at == s.found.at; });
      if (s.fits && s.found.us < kNever && !known) from.push_back(s.found);
    }
    std::stable_sort(from.begin(), from.end(), [](const Found& a, const Found& b) { return a.us < b.us; });
    if (from.empty()) return;
    from.resize(std::min<size_t>(3, from.size()));
    const int64_t leg = budget_.left() * 3 / 4 / static_cast<int64_t>(3 * from.size());
    for (double temperature : {0.01, 0.03, 0.10}) {
      for (const Found& start : from) improve(start, temperature, leg);
    }
    for (int64_t last = budget_.left() / 2; last > 0 && budget_.left() > 0 && !stuck_;)
      improve(best_, 0.03, std::min(last, budget_.left()));
  }

  void improve(const Found& start, double temperature, int64_t evaluations) {
    const int64_t before = budget_.done();
    Found found = anneal(p_, orders_, start, temperature, evaluations, budget_, dice_);
    if (found.us < best_.us) best_ = std::move(found);
    stuck_ = budget_.done() == before;
  }

  /// Edges of a group that leave its device, were it on `device`.
  size_t leaving(uint32_t g, uint16_t device) const {
    size_t edges = 0;
    for (const uint32_t other : p_.neighbours.of(g)) edges += best_.at[other] != device ? 1 : 0;
    return edges;
  }

  static double all_work(const Loads& loads, size_t devices) {
    double sum = 0;
    for (uint16_t d = 0; d < devices; ++d) sum += loads.of(d).compute_us + loads.of(d).in_us + loads.of(d).out_us;
    return sum;
  }

  // Of assignments that take as long, one with less to do, then with fewer edges between devices: nothing goes far for
  // no gain.
  void drop_needless_work() {
    constexpr double kMostSteps = 4e6;
    if (best_.us == kNever) return;
    if (static_cast<double>(p_.free_groups.size() * p_.devices()) * p_.num_nodes > kMostSteps) return;
    Loads loads(p_, best_.at);
    double least = all_work(loads, p_.devices());
    for (const uint32_t g : p_.free_groups) {
      if (budget_.stopped()) return;
      for (uint16_t d = 0; d < p_.devices(); ++d) {
        const uint16_t before = best_.at[g];
        if (d == before || !p_.can_be(g, d)) continue;
        const bool nearer = leaving(g, d) < leaving(g, before);
        loads.move(g, d);
        best_.at[g] = d;
        const double work = all_work(loads, p_.devices());
        const bool less = work < least * (1 - 1e-12) || (nearer && work <= least * (1 + 1e-12));
        const double us = less && p_.fits(best_.at) ? value_of(p_, best_.at) : kNever;
        if (us <= best_.us) {
          best_.us = us, least = work;
        } else {
          loads.move(g, before);
          best_.at[g] = before;
        }
      }
    }
  }

  // The search found what takes less: more can be left out of what might take still less.
  void raise_bound() {
    constexpr uint32_t kMostNodes = 20'000;
    if (best_.us == kNever || p_.num_nodes > kMostNodes || budget_.look()) return;
    if (const Bound bound = bound_below(p_, budget_, best_.us); bound.us > made_.bound.us) made_.bound = bound;
  }

  void conclude(bool exact) {
    const Start& original = made_.starts.front();
    made_.fits = best_.us < kNever;
    made_.best_us = best_.us;
    if (!made_.fits) {
      made_.found = original.found;
    } else if (original.fits && original.found.us <= best_.us * (1 + kNoGain)) {
      made_.found = original.found;
      made_.kept_original = true;
    } else {
      made_.found = best_;
    }
    const bool best_kept = made_.fits && made_.found.us <= best_.us;
    made_.optimal = best_kept && (exact || made_.found.us <= made_.bound.us * (1 + 1e-9));
    if (made_.fits && exact && best_.us > made_.bound.us) made_.bound = {best_.us, "exact"};
    made_.evaluations = budget_.done() + small_evaluations_;
    made_.cut = budget_.cut();
    made_.seconds = budget_.seconds();
  }

  const Problem& p_;
  const SolveOptions& o_;
  Budget budget_;
  Dice dice_;
  std::vector<GroupOrder> orders_;
  Found best_;
  Solution made_;
  std::vector<std::pair<Start::Kind, Assignment>> small_;  // starts that were found on a coarse problem
  int64_t small_evaluations_ = 0;
  bool stuck_ = false;  // no move is left to make
};

}  // namespace

const Start* best_single_device(const Solution& solution) {
  const Start* best = nullptr;
  for (const Start& s : solution.starts) {
    const bool single = (s.kind == Start::Kind::kHost || s.kind == Start::Kind::kDevice) &&
                        s.device == solution.single.value_or(s.device);
    if (single && s.fits && s.found.us < kNever && (!best || s.found.us < best->found.us)) best = &s;
  }
  return best;
}

const Start* host_alone(const Solution& solution) {
  for (const Start& s : solution.starts) {
    if (s.kind == Start::Kind::kHost) return s.fits && s.found.us < kNever ? &s : nullptr;
  }
  return nullptr;
}

Solution solve(const Problem& problem, const SolveOptions& options) { return Solver(problem, options).run(); }

}  // namespace emplace::autoplace
