#include "core/report/bench/launch_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/report/bench/statistics.h"

namespace emplace {
namespace {

struct LaunchTimes {
  std::vector<double> us;  // by number of the launched work: median over steps of what all its turns take
  std::vector<char> seen;  // likewise
  double turns = 0;        // launches of a step
  bool one_thread = true;
};

LaunchTimes times_of(const LaunchTrace& trace) {
  std::map<int64_t, char> steps;
  std::vector<std::map<int64_t, double>> by_step(trace.work().size());
  LaunchTimes times{std::vector<double>(by_step.size()), std::vector<char>(by_step.size())};
  const std::vector<LaunchSpan> spans = trace.spans();
  for (const LaunchSpan& span : spans) {
    if (span.step < 0) continue;
    steps[span.step] = 1;
    times.turns += 1;
    times.one_thread = times.one_thread && span.thread == spans.front().thread;
    by_step[span.work][span.step] += static_cast<double>(span.end_ns - span.start_ns) / 1e3;
  }
  times.turns /= static_cast<double>(std::max<size_t>(1, steps.size()));
  for (size_t work = 0; work < by_step.size(); ++work) {
    std::vector<double> us;
    for (const auto& [step, of_step] : by_step[work]) us.push_back(of_step);
    if (us.empty()) continue;
    times.us[work] = median_of(us);
    times.seen[work] = 1;
  }
  return times;
}

/// Nodes that are launched as one: where a result that only they read has to leave, two launches and a tensor in memory
/// take its place. How much longer that is nobody has measured; of a launch that is split at every such place, it is
/// known, and each has an equal part of it.
void share_splits(const Consumers& consumers, const std::vector<NodeCost*>& members, double alone_us, double us) {
  if (members.size() < 2 || alone_us <= us) return;
  std::set<NodeId> of_launch;
  for (const NodeCost* n : members) of_launch.insert(n->node);
  const double each = (alone_us - us) / static_cast<double>(members.size() - 1);
  for (NodeCost* n : members) {
    const auto edges = consumers.of(n->node);
    const bool stays = std::all_of(edges.begin(), edges.end(),
                                   [&](const Consumers::Edge& edge) { return of_launch.contains(edge.node); });
    if (stays && !edges.empty()) n->split_us = each;
  }
}

}  // namespace

void take_launch_times(const Graph& graph, const LaunchTrace& trace, double step_us, StepCosts& costs) {
  LaunchTimes times = times_of(trace);
  costs.one_at_a_time = times.one_thread;
  double sum = 0;
  for (const double us : times.us) sum += us;
  // One after the other they cannot take longer than the step; what is more was spent on looking at the clock.
  if (times.one_thread && sum > step_us && times.turns > 0) {
    const double clock_us = (sum - step_us) / times.turns;
    for (double& us : times.us) us = std::max(us - clock_us, us / 100);
  }
  std::unordered_map<NodeId, NodeCost*> nodes;
  for (NodeCost& n : costs.nodes) nodes[n.node] = &n, n.in_run_us = 0;
  const Consumers consumers(graph);
  for (size_t i = 0; i < times.us.size(); ++i) {
    const LaunchedWork& work = trace.work()[i];
    if (!times.seen[i] || work.from != kNoDevice) continue;
    double alone = 0;
    std::vector<NodeCost*> members;
    for (const NodeId node : work.nodes) {
      const auto at = nodes.find(node);
      if (at == nodes.end()) continue;
      members.push_back(at->second);
      alone += at->second->us;
    }
    for (NodeCost* n : members)
      n->in_run_us += alone > 0 ? times.us[i] * n->us / alone : times.us[i] / static_cast<double>(members.size());
    if (!work.is_loop) share_splits(consumers, members, alone, times.us[i]);
  }
}

}  // namespace emplace
