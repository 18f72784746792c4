// Part of core/report/bench/bench_report.h: the text.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/report/bench/bench_report.h"
#include "core/report/bench/device_table.h"
#include "core/report/bench/statistics.h"
#include "core/report/left_out.h"

namespace emplace {
namespace {

/// Three digits that count, no exponent.
std::string three(double v) {
  char text[32];
  const double size = std::abs(v);
  std::snprintf(text, sizeof(text),
                size >= 100 || v == 0 ? "%.0f"
                : size >= 10          ? "%.1f"
                : size >= 1           ? "%.2f"
                                      : "%.3f",
                v);
  return text;
}

/// With the unit of `scale`.
struct Unit {
  double us;
  std::string_view name;
};
Unit unit_for(double us) {
  if (us >= 1e6) return {1e6, "s"};
  return us >= 1e3 ? Unit{1e3, "ms"} : Unit{1, "us"};
}

std::string percent(double share) { return three(share * 100); }

std::string step_line(const BenchResult& r) {
  std::vector<double> sorted = r.steps.us;
  std::sort(sorted.begin(), sorted.end());
  const double median = percentile(sorted, 50);
  const Unit unit = unit_for(median);
  const auto in = [&](double us) { return three(us / unit.us); };
  const int64_t outliers = count_outliers(sorted);
  const Unit first = unit_for(r.first_step_us);
  return cat("step ", in(median), " ", unit.name, "  min ", in(sorted.front()), "  p50 ", in(median), "  p90 ",
             in(percentile(sorted, 90)), "  p99 ", in(percentile(sorted, 99)), "  max ", in(sorted.back()), "  cv ",
             percent(variation(sorted)), " %  n ", sorted.size(), "  outliers ", outliers, " (",
             percent(static_cast<double>(outliers) / static_cast<double>(sorted.size())), " %) kept   first step ",
             three(r.first_step_us / first.us), " ", first.name, "\n");
}

std::string change_line(const BenchReport& r) {
  const TimeChange& c = *r.change;
  const double old = median_of(r.baseline->steps.us);
  const Unit unit = unit_for(old);
  std::string text = cat("old  ", three(old / unit.us), " ", unit.name, "  -> ");
  const auto interval = [&](double sign) {
    const double a = std::min(sign * c.low, sign * c.high), b = std::max(sign * c.low, sign * c.high);
    return cat(percent(a), " to ", percent(b), " %");
  };
  if (!c.seen())
    append(text, verdict_text(c.verdict), " (", percent(c.change), " %, 95 % interval ", interval(1));
  else
    append(text, percent(std::abs(c.change)), " % ", verdict_text(c.verdict), ", 95 % interval ",
           interval(c.change < 0 ? -1 : 1), " (");
  if (!c.seen()) text += "; ";
  append(text, c.p < 0.001 ? "p < 0.001" : cat("p = ", three(c.p)), ", Welch");
  constexpr double kBusy = 0.1;
  if (const double others = std::max(r.baseline->steps.others, r.result->steps.others); others > kBusy)
    append(text, ", others used ", std::llround(100 * others), " % of the processors");
  constexpr double kNearlyAll = 0.9;
  if (c.compared < kNearlyAll)
    append(text, ", others slowed the processor: ", std::llround(100 * c.compared), " % of the steps at one pace");
  if (c.by_others >= 0.01) append(text, ", others can have made ", percent(c.by_others), " % of difference");
  const std::vector<std::string> other = different_facts(r.baseline->facts, r.result->facts);
  if (other.empty()) return cat(text, "; same graph, placement, machine, flags)\n");
  text += ")\n";
  for (const std::string& fact : other) append(text, "     not the same: ", fact, "\n");
  return text;
}

std::vector<std::string> node_cells(const BenchReport& r, const NodeCost& n, double all, double so_far) {
  const auto share = [&](double us) {
    char text[16];
    std::snprintf(text, sizeof(text), "%.1f", 100 * us / all);
    return std::string(text);
  };
  const double per_call = n.us / std::max(1.0, n.calls);
  const bool sized = n.bytes_in.has_value();
  const auto bytes = static_cast<double>(n.bytes_out + n.bytes_in.value_or(0));
  return {std::string(r.graph->name(n.node)),
          std::string(r.graph->op(n.node)),
          short_device_name(*r.devices, n.device),
          three(n.us),
          share(n.us),
          share(so_far),
          three(n.calls),
          sized ? three(bytes / 1024) : "-",
          n.flops && per_call > 0 ? three(static_cast<double>(*n.flops) / per_call / 1e3) : "-",
          sized && per_call > 0 ? three(bytes / per_call / 1e3) : "-",
          find_left_out(r.left_out, n.node) ? "not launched" : bound_by(n, r.devices->at(n.device), r.result->peaks)};
}

std::string node_table(const BenchReport& r) {
  const std::vector<NodeCost>& nodes = r.result->costs.nodes;
  double all = 0, so_far = 0;
  for (const NodeCost& n : nodes) all += n.us;
  if (all <= 0) return {};
  std::vector<std::vector<std::string>> lines;
  for (size_t i = 0; i < std::min(r.top, nodes.size()); ++i) {
    so_far += nodes[i].us;
    lines.push_back(node_cells(r, nodes[i], all, so_far));
  }
  std::string text = table_text({"node", "op", "device", "us", "%", "cdf %", "calls", "KB", "GF/s", "GB/s", "bound by"},
                                lines, r.line_width);
  if (nodes.size() > r.top) append(text, "... ", nodes.size() - r.top, " more (--top N)\n");
  return text;
}

/// A node's time beside that of the baseline.
struct TwoTimes {
  std::string_view name;
  double before = 0, after = 0;
};

std::vector<TwoTimes> in_both(const BenchReport& r) {
  std::vector<TwoTimes> nodes;
  for (const NodeCost& n : r.result->costs.nodes) {
    const auto old = r.baseline->node_us.find(std::string(r.graph->name(n.node)));
    if (old != r.baseline->node_us.end() && old->second > 0) nodes.push_back({old->first, old->second, n.us});
  }
  return nodes;
}

/// The one whose time changed most beyond `all_alike` times what it was: of all, or of those that `sign` says, which is
/// that of a change.
TwoTimes most_changed(const std::vector<TwoTimes>& nodes, double all_alike, int sign) {
  TwoTimes most;
  double largest = 0;
  for (const TwoTimes& n : nodes) {
    const double more = n.after - n.before * all_alike;
    const double much = sign == 0 ? std::abs(more) : sign * more;
    if (much > largest) largest = much, most = n;
  }
  return most;
}

/// Beside a baseline, the node that changed most. What the machine does to all nodes alike is taken off where it can be
/// told, so that a node is named whatever steps say: if it makes a twentieth of a step and changed by half as much
/// again as others did. Else it has to have changed as steps did.
std::string changed_node(const BenchReport& r) {
  constexpr size_t kEnough = 4;
  constexpr double kOfStep = 0.05, kAlone = 1.5;
  if (!r.baseline || !r.change) return {};
  const std::vector<TwoTimes> nodes = in_both(r);
  std::vector<double> ratios;
  double step = 0;
  for (const TwoTimes& n : nodes) ratios.push_back(n.after / n.before), step += n.after;
  const auto text = [](std::string_view what, const TwoTimes& n) {
    return cat("* ", what, ": ", n.name, ", ", three(n.before), " -> ", three(n.after), " us\n");
  };
  const double all_alike = ratios.size() >= kEnough ? median_of(ratios) : 1;
  if (ratios.size() >= kEnough) {
    const TwoTimes most = most_changed(nodes, all_alike, 0);
    const double alone = most.name.empty() ? 1 : most.after / most.before / all_alike;
    const bool is_large = std::abs(most.after - most.before * all_alike) >= kOfStep * step;
    if (is_large && std::max(alone, 1 / alone) >= kAlone) return text("changed most", most);
  }
  if (!r.change->seen()) return {};
  const TwoTimes most = most_changed(nodes, all_alike, r.change->change > 0 ? 1 : -1);
  return most.name.empty() ? std::string() : text("most of it", most);
}

}  // namespace

std::string bound_by(const NodeCost& cost, const Device& device, const MachinePeaks& peaks) {
  // Of a card nobody has measured the peaks.
  if (device.kind == DeviceKind::kCuda || peaks.flops_per_s <= 0 || peaks.bytes_per_s <= 0 || cost.us <= 0) return {};
  if (!cost.flops || !cost.bytes_in) return {};
  const double seconds = cost.us / std::max(1.0, cost.calls) / 1e6;
  const double compute = static_cast<double>(*cost.flops) / seconds / peaks.flops_per_s;
  const double memory = static_cast<double>(*cost.bytes_in + cost.bytes_out) / seconds / peaks.bytes_per_s;
  constexpr double kLaunch = 0.2;
  if (compute < kLaunch && memory < kLaunch) return "launch";
  const auto share = [](double v) { return std::llround(100 * v); };
  if (compute >= memory) return cat("compute: ", share(compute), " % of peak");
  return memory > 1 ? "memory: in caches" : cat("memory: ", share(memory), " % of bandwidth");
}

std::string bench_text(const BenchReport& r) {
  std::string text = step_line(*r.result);
  if (r.baseline) text += change_line(r);
  if (r.predicted)
    text += predicted_text(*r.predicted, r.result->costs, median_of(r.result->steps.us), *r.graph, *r.devices);
  if (r.result->traced_step_us > 0) {
    const Unit unit = unit_for(r.result->traced_step_us);
    append(text, device_table(r),
           "nodes from a second pass, one node at a time and unfused: ", three(r.result->traced_step_us / unit.us), " ",
           unit.name, " a step\n", node_table(r), changed_node(r), device_hints(r));
    if (!r.left_out.empty()) append(text, "* ", left_out_summary(*r.graph, r.left_out), "\n");
  }
  return text;
}

}  // namespace emplace
