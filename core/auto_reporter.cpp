#include "core/auto_reporter.h"

#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/place/auto/loads.h"

namespace emplace {
namespace {

using autoplace::Assignment;
using autoplace::Goal;
using autoplace::Slot;
using autoplace::Start;

std::string step_text(double us) { return time_text(us / 1e6); }

/// About as many steps of a simulation as take a second.
constexpr double kMostWork = 4e6;

/// How much slower a device or a link is supposed to be, to see what then were better.
constexpr double kFragileChange = 0.2;

}  // namespace

AutoReporter::AutoReporter(const Graph& graph, const DeviceSet& devices, const AutoProblem& made,
                           const autoplace::Solution& solution)
    : graph_(graph), devices_(devices), made_(made), p_(made.problem), solution_(solution) {}

std::string AutoReporter::over_text(const Assignment& at, uint16_t device) const {
  return share_text(static_cast<int64_t>(p_.memory_used(at, device)),
                    static_cast<int64_t>(p_.machine.units[device].memory));
}

std::vector<std::string> AutoReporter::reasons() const {
  Assignment at = solution_.found.at;
  const std::string own = cat(step_text(solution_.found.us), " a step");
  std::vector<std::string> texts(p_.num_groups, own);
  const double work = static_cast<double>(p_.free_groups.size() * p_.devices()) * p_.num_nodes;
  if (work > kMostWork) return texts;
  std::vector<double> used(p_.devices());
  for (uint16_t d = 0; d < p_.devices(); ++d) used[d] = p_.memory_used(at, d);
  autoplace::Simulator simulator(p_);
  for (const uint32_t g : p_.free_groups) {
    const uint16_t chosen = at[g];
    for (uint16_t d = 0; d < p_.devices(); ++d) {
      if (d == chosen || !p_.can_be(g, d)) continue;
      append(texts[g], texts[g] == own ? "; " : ", ", "on ", short_device_name(devices_, d), ' ');
      const double limit = p_.machine.units[d].memory, needed = used[d] + p_.group_memory(g, d);
      if (limit > 0 && needed > limit) {
        append(texts[g], "over memory by ", size_text(static_cast<int64_t>(needed - limit)));
        continue;
      }
      at[g] = d;
      const double us = p_.goal == Goal::kLatency ? simulator.run(at) : autoplace::value_of(p_, at);
      const double more = us - solution_.found.us;
      append(texts[g], step_text(us), " (", more < 0 ? "-" : "+", step_text(std::abs(more)), ')');
    }
    at[g] = chosen;
  }
  return texts;
}

AutoReport::Alternative AutoReporter::names_of(const Start& s) const {
  const auto alone = [&](uint16_t d) {
    const std::string name = short_device_name(devices_, d);
    return AutoReport::Alternative{name, name + " alone"};
  };
  switch (s.kind) {
    case Start::Kind::kOriginal:
      return {"tensorflow", "TensorFlow's placement"};
    case Start::Kind::kHost:
    case Start::Kind::kDevice:
      return alone(s.device);
    case Start::Kind::kHeft:
      return {"heft", "HEFT"};
    case Start::Kind::kPeft:
      return {"peft", "PEFT"};
    case Start::Kind::kFilled:
      return {"filled", "filled in order"};
    case Start::Kind::kContiguous:
      return {"contiguous", "contiguous"};
    case Start::Kind::kCoarse:
      return {"coarse", "coarse graph"};
  }
  return {};
}

void AutoReporter::add_alternatives(AutoReport& r) const {
  for (const Start& s : solution_.starts) {
    AutoReport::Alternative a = names_of(s);
    a.us = s.found.us;
    if (!s.fits) a.over = over_text(s.found.at, s.over);
    if (std::isfinite(a.us)) r.alternatives.push_back(std::move(a));
  }
}

void AutoReporter::add_loads(AutoReport& r) const {
  const autoplace::Loads loads(p_, solution_.found.at);
  for (uint16_t d = 0; d < p_.devices(); ++d) {
    const autoplace::DeviceLoad load = loads.of(d);
    AutoReport::Load row;
    row.device = devices_.at(d).name, row.title = short_device_name(devices_, d);
    row.compute_us = load.compute_us, row.copies_us = load.in_us + load.out_us;
    const double all = r.predicted_us * std::max(1, p_.machine.units[d].lanes);
    if (all > 0) row.busy = std::min(1.0, load.compute_us / all), row.copying = row.copies_us / r.predicted_us;
    r.loads.push_back(std::move(row));
  }
}

AutoReport::Row AutoReporter::row_of(const Slot& slot) const {
  AutoReport::Row row;
  row.copy = slot.copy;
  row.device = devices_.at(slot.from).name, row.to = devices_.at(slot.to).name;
  row.start_us = slot.start_us, row.end_us = slot.end_us;
  if (!slot.copy) {
    row.what = graph_.name(made_.nodes[slot.what]);
    return row;
  }
  const Endpoint tensor = made_.tensors[slot.what];
  row.what = cat(graph_.name(tensor.node), ':', tensor.slot);
  row.bytes = static_cast<int64_t>(p_.tensors[slot.what].bytes);
  return row;
}

void AutoReporter::add_schedule(AutoReport& r) const {
  std::vector<Slot> slots;
  r.one_step_us = autoplace::Simulator(p_).schedule(solution_.found.at, slots);
  if (slots.empty()) return;
  int64_t last = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].end_us > slots[static_cast<size_t>(last)].end_us) last = static_cast<int64_t>(i);
  }
  for (int64_t i = last; i >= 0; i = slots[static_cast<size_t>(i)].waited_for) {
    const Slot& slot = slots[static_cast<size_t>(i)];
    if (slot.end_us > slot.start_us || i == last) r.critical.push_back(row_of(slot));
  }
  std::reverse(r.critical.begin(), r.critical.end());
  for (const Slot& slot : slots) r.schedule.push_back(row_of(slot));
}

// The step with costs drawn from their spreads, many times.
void AutoReporter::add_spread(AutoReport& r) const {
  r.low_us = r.high_us = r.predicted_us;
  constexpr int kMost = 200;
  const double times = std::min<double>(kMost, kMostWork / std::max<uint32_t>(1, p_.num_nodes));
  if (times < 10 || *std::max_element(made_.spreads.begin(), made_.spreads.end()) <= 0) return;
  autoplace::Problem drawn = p_;
  autoplace::Dice dice(1);
  std::vector<double> steps;
  for (int i = 0; i < static_cast<int>(times); ++i) {
    if (stop_requested()) return;
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      // The sum of uniform numbers is nearly normal; a median distance is 0.6745 of a standard deviation.
      double normal = -6;
      for (int k = 0; k < 12; ++k) normal += dice.share();
      const double factor = std::max(0.1, 1 + made_.spreads[n] / 0.6745 * normal);
      const uint16_t d = solution_.found.at[p_.group[n]];
      const double before = drawn.us[n * p_.devices() + d], us = p_.node_us(n, d) * factor;
      drawn.us[n * p_.devices() + d] = us;
      drawn.group_us[p_.group[n] * p_.devices() + d] += us - before;
    }
    steps.push_back(autoplace::value_of(drawn, solution_.found.at));
  }
  std::sort(steps.begin(), steps.end());
  r.low_us = std::min(r.predicted_us, steps[steps.size() / 10]);
  r.high_us = std::max(r.predicted_us, steps[steps.size() * 9 / 10]);
}

// Would one of the starts, which were found beside, be better if `changed` were true?
void AutoReporter::add_if_fragile(const autoplace::Problem& changed, const std::string& what, AutoReport& r) const {
  constexpr double kWorthTelling = 0.01;
  const double own = autoplace::value_of(changed, solution_.found.at);
  double best = own;
  const Start* instead = nullptr;
  for (const Start& s : solution_.starts) {
    if (stop_requested()) return;
    if (!s.fits || s.found.at == solution_.found.at) continue;
    if (const double us = autoplace::value_of(changed, s.found.at); us < best) best = us, instead = &s;
  }
  if (instead && best < own * (1 - kWorthTelling))
    r.sensitivity.push_back({what, title_of(*instead), kFragileChange, 1 - best / own});
}

void AutoReporter::add_sensitivity(AutoReport& r) const {
  const size_t n = p_.devices();
  const double work = static_cast<double>(n * n * solution_.starts.size()) * p_.num_nodes;
  if (work > kMostWork) return;
  autoplace::Problem changed = p_;
  for (uint16_t a = 0; a < n; ++a) {
    const std::string name = short_device_name(devices_, a);
    for (uint32_t node = 0; node < p_.num_nodes; ++node) changed.us[node * n + a] *= 1 + kFragileChange;
    for (uint32_t g = 0; g < p_.num_groups; ++g) changed.group_us[g * n + a] *= 1 + kFragileChange;
    add_if_fragile(changed, name, r);
    changed.us = p_.us, changed.group_us = p_.group_us;
    for (uint16_t b = 0; b < n; ++b) {
      autoplace::Machine::Line& line = changed.machine.lines[a * n + b];
      if (a == b || !line.direct || (line.latency_us <= 0 && line.us_per_byte <= 0)) continue;
      line.latency_us *= 1 + kFragileChange, line.us_per_byte *= 1 + kFragileChange;
      add_if_fragile(changed, cat("link ", name, ' ', short_device_name(devices_, b)), r);
      line = p_.machine.line(a, b);
    }
  }
}

AutoReport AutoReporter::report(const std::vector<std::string>& costs, int64_t seed) const {
  AutoReport r;
  r.latency = p_.goal == Goal::kLatency;
  r.predicted_us = solution_.found.us, r.best_us = solution_.best_us;
  r.bound_us = solution_.bound.us, r.bound = solution_.bound.name;
  r.optimal = solution_.optimal, r.kept = solution_.kept_original, r.described = made_.described;
  r.evaluations = solution_.evaluations, r.seed = seed, r.seconds = solution_.seconds;
  r.stopped = solution_.cut ? "time" : solution_.optimal ? "optimal" : "evaluations";
  r.costs = costs;
  r.node_costs = made_.costs;
  add_alternatives(r);
  add_loads(r);
  if (p_.num_nodes > 0) add_spread(r);
  add_schedule(r);
  add_sensitivity(r);
  return r;
}

}  // namespace emplace
