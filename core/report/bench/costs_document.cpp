// Part of core/report/bench/bench_report.h: the table of costs that --save-costs writes.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/device/device_text.h"
#include "core/report/bench/bench_report.h"

namespace emplace {
namespace {

/// us = latency + bytes / speed, through the medians of copies: as near to each as a share of it, since they reach from
/// microseconds to milliseconds.
struct LinkLine {
  double latency_us = 0, bytes_per_us = 0, spread = 0;
  int64_t samples = 0;
};

LinkLine line_through(const std::vector<CopyCost>& copies) {
  constexpr double kShortest = 0.01;  // us
  LinkLine line;
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const CopyCost& c : copies) {
    const auto bytes = static_cast<double>(c.bytes);
    const double weight = 1 / std::pow(std::max(c.us, kShortest), 2);
    n += weight, x += weight * bytes, y += weight * c.us, xx += weight * bytes * bytes, xy += weight * bytes * c.us;
    line.samples += c.samples;
  }
  const double below = n * xx - x * x;
  double slope = below > 1e-9 * n * xx ? std::max(0.0, (n * xy - x * y) / below) : 0;
  line.latency_us = (y - slope * x) / n;
  if (line.latency_us < 0) line.latency_us = 0, slope = xy / xx;
  if (slope > 0) line.bytes_per_us = 1 / slope;
  std::vector<double> misses, spreads;
  for (const CopyCost& c : copies) {
    misses.push_back(std::abs(line.latency_us + slope * static_cast<double>(c.bytes) - c.us) /
                     std::max(c.us, kShortest));
    spreads.push_back(c.spread);
  }
  line.spread = std::max(median_of(misses), median_of(spreads));
  return line;
}

void write_links(JsonWriter& json, const BenchReport& r) {
  std::map<std::pair<std::string, std::string>, std::vector<CopyCost>> links;
  for (const std::vector<CopyCost>* copies : {&r.result->costs.copies, &r.result->links}) {
    for (const CopyCost& c : *copies) links[{r.devices->at(c.from).type, r.devices->at(c.to).type}].push_back(c);
  }
  json.key("links").begin_array();
  for (const auto& [ends, copies] : links) {
    const LinkLine line = line_through(copies);
    json.begin_object().member("from", ends.first).member("to", ends.second).member("latency_us", line.latency_us);
    // Of copies of one size only, nobody knows the speed.
    json.key("bytes_per_us");
    line.bytes_per_us > 0 ? json.value(line.bytes_per_us) : json.null();
    json.member("n", line.samples).member("spread", line.spread).end_object();
  }
  json.end_array();
}

/// Each distinct (op, type of device, key) once: the median of its nodes.
void write_kernels(JsonWriter& json, const BenchReport& r) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<const NodeCost*>> kernels;
  for (const NodeCost& n : r.result->costs.nodes) {
    const std::string key = cost_key(*r.graph, n.node);
    if (!key.empty()) kernels[{std::string(r.graph->op(n.node)), r.devices->at(n.device).type, key}].push_back(&n);
  }
  json.key("kernels").begin_array();
  for (const auto& [what, nodes] : kernels) {
    std::vector<double> us, spreads;
    int64_t samples = 0, dropped = 0;
    for (const NodeCost* n : nodes) {
      us.push_back(n->us / std::max(1.0, n->calls));
      spreads.push_back(n->spread);
      samples += n->steps;
      dropped += n->dropped;
    }
    const NodeCost& one = *nodes.front();
    json.begin_object()
        .member("op", std::get<0>(what))
        .member("device", std::get<1>(what))
        .member("key", std::get<2>(what));
    json.key("flops");
    one.flops ? json.value(*one.flops) : json.null();
    json.member("bytes", one.bytes_out + one.bytes_in.value_or(0)).member("us", median_of(us));
    json.member("spread", median_of(spreads)).member("n", samples);
    if (dropped > 0) json.member("dropped", dropped);
    json.end_object();
  }
  json.end_array();
}

void write_cost_nodes(JsonWriter& json, const BenchReport& r) {
  json.key("nodes").begin_object();
  std::set<NodeId> written;
  for (const NodeCost& n : r.result->costs.nodes) {
    if (!written.insert(n.node).second) continue;
    json.key(r.graph->name(n.node)).begin_object().key("us").begin_object();
    json.member(r.devices->at(n.device).type, n.in_run_us).end_object();
    json.member("spread", n.spread);
    if (n.split_us > 0) json.member("split", n.split_us);
    json.key("outputs").begin_array();
    if (n.calls == 1) json.value(n.bytes_out);
    json.end_array().end_object();
  }
  json.end_object();
}

}  // namespace

std::string costs_json(const BenchReport& r, std::string_view date) {
  const BenchFacts& f = r.result->facts;
  std::string out;
  JsonWriter json(out, 1);
  write_schema(json.begin_object(), Document::kCosts);
  json.key("machine").begin_object().compact().member("id", f.machine).key("devices").begin_array();
  for (const std::string& device : f.devices) json.value(device);
  json.end_array().member("threads", f.threads).member("emplace", f.version).member("date", date);
  json.member("flops_per_s", r.result->peaks.flops_per_s)
      .member("bytes_per_s", r.result->peaks.bytes_per_s)
      .member("one_at_a_time", r.result->costs.one_at_a_time)
      .end_object();
  std::set<std::string> types;
  for (DeviceId d = 0; d < r.devices->size(); ++d) types.insert(r.devices->at(d).type);
  json.key("lanes").begin_object();
  for (const std::string& type : types) {
    json.key(type).begin_object().compact().member("lanes", type == "CPU" ? f.threads : 1);
    if (type != "CPU") json.member("copy_overlap", false);
    json.end_object();
  }
  json.end_object();
  write_links(json, r);
  write_kernels(json, r);
  write_cost_nodes(json, r);
  json.end_object();
  return out + "\n";
}

}  // namespace emplace
