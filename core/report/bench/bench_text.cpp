// Part of core/report/bench/bench_report.h: the text.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/report/bench/bench_report.h"
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
  std::vector<double> sorted = r.step_us;
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
  const double old = median_of(r.baseline->step_us);
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
  if (const double others = std::max(r.baseline->facts.others, r.result->facts.others); others > kBusy)
    append(text, ", others used ", std::llround(100 * others), " % of the processors");
  const std::vector<std::string> other = different_facts(r.baseline->facts, r.result->facts);
  if (other.empty()) return cat(text, "; same graph, placement, machine, flags)\n");
  text += ")\n";
  for (const std::string& fact : other) append(text, "     not the same: ", fact, "\n");
  return text;
}

std::string device_table(const BenchReport& r) {
  const BenchResult& b = *r.result;
  const double step = median_of(b.step_us);
  std::string text = "device  busy   compute    copies      peak\n";
  char line[160];
  for (DeviceId d = 0; d < r.devices->size(); ++d) {
    double compute = 0, copies = 0;
    for (const NodeCost& n : b.costs.nodes) compute += n.device == d ? n.us : 0;
    for (const CopyCost& c : b.costs.copies) copies += c.to == d ? c.us * c.calls : 0;
    int64_t peak = 0;
    for (const DeviceMemory& m : b.memory) peak += m.device == d ? m.peak : 0;
    if (compute == 0 && copies == 0 && peak == 0) continue;
    const Unit c = unit_for(compute), k = unit_for(copies);
    std::snprintf(line, sizeof(line), "%-6s  %3.0f %%  %5s %-2s  %5s %-2s  %8s\n",
                  short_device_name(*r.devices, d).c_str(),
                  std::min(100.0, 100 * compute / std::max(step, b.traced_step_us)), three(compute / c.us).c_str(),
                  c.name.data(), three(copies / k.us).c_str(), k.name.data(), size_text(peak).c_str());
    text += line;
  }
  return text;
}

/// The middle of a long name gives way.
std::string fitted(std::string name, size_t width) {
  if (name.size() <= width) return name;
  const size_t tail = (width - 3) / 2;
  return cat(name.substr(0, width - 3 - tail), "...", name.substr(name.size() - tail));
}

std::string node_table(const BenchReport& r) {
  const BenchResult& b = *r.result;
  double all = 0, so_far = 0;
  for (const NodeCost& n : b.costs.nodes) all += n.us;
  if (all <= 0) return {};
  std::string text =
      "node                              op                device       us      %  cdf %  calls        KB    GF/s    "
      "GB/s  bound by\n";
  char line[256];
  for (size_t i = 0; i < std::min(r.top, b.costs.nodes.size()); ++i) {
    const NodeCost& n = b.costs.nodes[i];
    so_far += n.us;
    const double per_call = n.us / std::max(1.0, n.calls);
    const bool sized = n.bytes_in.has_value();
    const auto bytes = static_cast<double>(n.bytes_out + n.bytes_in.value_or(0));
    std::snprintf(
        line, sizeof(line), "%-32s  %-16s  %-6s  %7s  %5.1f  %5.1f  %5s  %8s  %6s  %6s  %s\n",
        fitted(std::string(r.graph->name(n.node)), 32).c_str(), fitted(std::string(r.graph->op(n.node)), 16).c_str(),
        short_device_name(*r.devices, n.device).c_str(), three(n.us).c_str(), 100 * n.us / all, 100 * so_far / all,
        three(n.calls).c_str(), sized ? three(bytes / 1024).c_str() : "-",
        n.flops && per_call > 0 ? three(static_cast<double>(*n.flops) / per_call / 1e3).c_str() : "-",
        sized && per_call > 0 ? three(bytes / per_call / 1e3).c_str() : "-",
        find_left_out(r.left_out, n.node) ? "not launched" : bound_by(n, r.devices->at(n.device), b.peaks).c_str());
    text += line;
  }
  if (b.costs.nodes.size() > r.top) append(text, "... ", b.costs.nodes.size() - r.top, " more (--top N)\n");
  return text;
}

/// What became slower most, beside a baseline.
std::string slower_nodes(const BenchReport& r) {
  if (!r.baseline || !r.change || !r.change->seen()) return {};
  std::string name;
  double most = 0, before = 0, after = 0;
  for (const NodeCost& n : r.result->costs.nodes) {
    const auto old = r.baseline->node_us.find(std::string(r.graph->name(n.node)));
    if (old == r.baseline->node_us.end()) continue;
    const double more = r.change->change > 0 ? n.us - old->second : old->second - n.us;
    if (more > most) most = more, name = old->first, before = old->second, after = n.us;
  }
  if (name.empty()) return {};
  return cat("* most of it: ", name, ", ", three(before), " -> ", three(after), " us\n");
}

std::string hints(const BenchReport& r) {
  double copies = 0, compute = 0;
  int64_t count = 0;
  for (const CopyCost& c : r.result->costs.copies) copies += c.us * c.calls, count += std::llround(c.calls);
  for (const NodeCost& n : r.result->costs.nodes) compute += n.us;
  if (count == 0 || copies < 0.05 * (copies + compute)) return {};
  return cat("* ", count, count == 1 ? " copy carries " : " copies carry ", percent(copies / (copies + compute)),
             " % of the work: emplace copies ", r.result->facts.file, " --measure\n");
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
    text += predicted_text(*r.predicted, r.result->costs, median_of(r.result->step_us), *r.graph, *r.devices);
  if (r.result->traced_step_us > 0) {
    const Unit unit = unit_for(r.result->traced_step_us);
    append(text,
           "nodes from a second pass, one node at a time and unfused: ", three(r.result->traced_step_us / unit.us), " ",
           unit.name, " a step\n", device_table(r), node_table(r), slower_nodes(r), hints(r));
    if (!r.left_out.empty()) append(text, "* ", left_out_summary(*r.graph, r.left_out), "\n");
  }
  return text;
}

}  // namespace emplace
