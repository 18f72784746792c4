#include "core/report/bench/predicted.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

double measured_compute(const StepCosts& measured, DeviceId d) {
  double us = 0;
  for (const NodeCost& n : measured.nodes) us += n.device == d ? n.in_run_us : 0;
  return us;
}

double measured_copies(const StepCosts& measured, DeviceId from, DeviceId to) {
  double us = 0;
  for (const CopyCost& c : measured.copies) us += c.from == from && c.to == to ? c.us * c.calls : 0;
  return us;
}

std::string step_text(double us) { return time_text(us / 1e6); }

/// "+3.2 %": how much more was measured.
std::string more_text(double predicted, double measured) {
  if (predicted <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%+.1f %%", 100 * (measured / predicted - 1));
  return text;
}

std::string row(std::string_view what, double predicted, double measured) {
  char line[160];
  std::snprintf(line, sizeof(line), "  %-22s  %10s  %10s  %9s\n", std::string(what).c_str(),
                step_text(predicted).c_str(), step_text(measured).c_str(), more_text(predicted, measured).c_str());
  return line;
}

}  // namespace

std::vector<WrongCost> wrong_costs(const PredictedStep& predicted, const StepCosts& measured, size_t devices) {
  constexpr double kSpreads = 3;
  constexpr double kClock = 0.1;  // us: what two looks at the clock leave open
  std::vector<WrongCost> wrong;
  if (predicted.node_costs.empty()) return wrong;
  for (const NodeCost& n : measured.nodes) {
    const std::optional<CostEstimate>& cost = predicted.node_costs[n.node * devices + n.device];
    if (!cost) continue;
    const double us = n.in_run_us;
    const double spread = std::max(cost->spread * cost->us, n.spread * us);
    if (std::abs(us - cost->us) > kSpreads * std::max(spread, kClock))
      wrong.push_back({n.node, n.device, cost->us, us});
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const WrongCost& a, const WrongCost& b) {
    return std::abs(a.measured_us - a.predicted_us) > std::abs(b.measured_us - b.predicted_us);
  });
  return wrong;
}

std::string predicted_text(const PredictedStep& predicted, const StepCosts& measured, double step_us,
                           const Graph& graph, const DeviceSet& devices) {
  std::string text = cat("predicted ", step_text(predicted.us), " (", step_text(predicted.low_us), " to ",
                         step_text(predicted.high_us), "), measured ", step_text(step_us), ": ",
                         more_text(predicted.us, step_us), "\n");
  if (measured.nodes.empty()) return text;
  text += "                           predicted    measured\n";
  for (DeviceId d = 0; d < predicted.compute_us.size(); ++d) {
    const double compute = measured_compute(measured, d);
    if (predicted.compute_us[d] > 0 || compute > 0)
      text += row(short_device_name(devices, d), predicted.compute_us[d], compute);
  }
  for (const PredictedStep::Way& way : predicted.copies)
    text += row(cat("copies ", short_device_name(devices, way.from), " -> ", short_device_name(devices, way.to)),
                way.us, measured_copies(measured, way.from, way.to));
  constexpr size_t kShown = 5;
  const std::vector<WrongCost> wrong = wrong_costs(predicted, measured, devices.size());
  for (size_t i = 0; i < std::min(kShown, wrong.size()); ++i)
    append(text, "* off by more than 3 spreads: ", graph.name(wrong[i].node), " on ",
           short_device_name(devices, wrong[i].device), ", ", step_text(wrong[i].predicted_us), " -> ",
           step_text(wrong[i].measured_us), "\n");
  if (wrong.size() > kShown) append(text, "* and ", wrong.size() - kShown, " more\n");
  return text;
}

void write_predicted(JsonWriter& json, const PredictedStep& predicted, const StepCosts& measured, double step_us,
                     const Graph& graph, const DeviceSet& devices) {
  json.begin_object().member("us", predicted.us).member("low_us", predicted.low_us);
  json.member("high_us", predicted.high_us).member("measured_us", step_us).key("devices").begin_array();
  for (DeviceId d = 0; d < predicted.compute_us.size(); ++d) {
    json.begin_object().member("device", devices.at(d).name).member("us", predicted.compute_us[d]);
    json.member("measured_us", measured_compute(measured, d)).end_object();
  }
  json.end_array().key("links").begin_array();
  for (const PredictedStep::Way& way : predicted.copies) {
    json.begin_object().member("from", devices.at(way.from).name).member("to", devices.at(way.to).name);
    json.member("us", way.us).member("measured_us", measured_copies(measured, way.from, way.to)).end_object();
  }
  json.end_array().key("off").begin_array();
  for (const WrongCost& w : wrong_costs(predicted, measured, devices.size())) {
    json.begin_object().member("name", graph.name(w.node)).member("device", devices.at(w.device).name);
    json.member("us", w.predicted_us).member("measured_us", w.measured_us).end_object();
  }
  json.end_array().end_object();
}

}  // namespace emplace
