// Part of core/report/bench/bench_report.h: the document, written and read again, and the table of costs.
#include <algorithm>
#include <climits>

#include "core/base/cat.h"
#include "core/base/json_document.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/device/device_text.h"
#include "core/report/bench/bench_report.h"
#include "core/report/bench/device_table.h"
#include "core/report/bench/statistics.h"
#include "core/report/left_out.h"

namespace emplace {
namespace {

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_optional(JsonWriter& json, std::string_view key, const std::optional<int64_t>& value) {
  json.key(key);
  value ? json.value(*value) : json.null();
}

void write_bench_facts(JsonWriter& json, const BenchFacts& f) {
  json.key("graph").begin_object().member("file", f.file).member("sha256", f.graph_hash).end_object();
  json.member("placement_hash", f.placement_hash).member("machine", f.machine).member("version", f.version);
  json.member("threads", f.threads);
  write_texts(json, "flags", f.flags);
  write_texts(json, "devices", f.devices);
}

void write_percentiles(JsonWriter& json, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  json.key("step").begin_object().member("n", us.size()).member("min", us.front());
  for (const auto& [name, p] : {std::pair{"p50", 50.0}, {"p90", 90.0}, {"p99", 99.0}})
    json.member(name, percentile(us, p));
  json.member("max", us.back()).member("cv", variation(us)).member("outliers", count_outliers(us)).end_object();
}

void write_node_cost(JsonWriter& json, const BenchReport& r, const NodeCost& n) {
  json.begin_object().member("name", r.graph->name(n.node)).member("op", r.graph->op(n.node));
  json.member("device", r.devices->at(n.device).name)
      .member("us", n.us)
      .member("in_run_us", n.in_run_us)
      .member("spread", n.spread)
      .member("calls", n.calls);
  write_optional(json, "bytes_in", n.bytes_in);
  json.member("bytes_out", n.bytes_out);
  write_optional(json, "flops", n.flops);
  json.member("bound_by", bound_by(n, r.devices->at(n.device), r.result->peaks));
  if (const LeftOut* l = find_left_out(r.left_out, n.node)) json.member("in_run", left_out_text(*r.graph, *l));
  json.end_object();
}

void write_change(JsonWriter& json, const BenchReport& r) {
  json.key("baseline");
  if (!r.baseline) return static_cast<void>(json.null());
  const TimeChange& c = *r.change;
  json.begin_object().member("p50", median_of(r.baseline->steps.us)).member("change", c.change).member("low", c.low);
  json.member("high", c.high)
      .member("p", c.p)
      .member("compared", c.compared)
      .member("by_others", c.by_others)
      .member("verdict", verdict_text(c.verdict));
  write_texts(json, "not_the_same", different_facts(r.baseline->facts, r.result->facts));
  json.end_object();
}

/// [steps, us] of neighbours that have the same.
void write_paces(JsonWriter& json, const std::vector<double>& paces) {
  json.key("pace_us").begin_array();
  for (size_t i = 0; i < paces.size();) {
    size_t end = i;
    while (end < paces.size() && paces[end] == paces[i]) ++end;
    json.begin_array().value(end - i).value(paces[i]).end_array();
    i = end;
  }
  json.end_array();
}

using Json = nlohmann::json;

/// One for each step, or none: an older program looked at none.
Status read_paces(const Json& json, const std::string& origin, StepTimes& steps) {
  const auto paces = json.find("pace_us");
  if (paces == json.end()) return ok_status();
  const auto wrong = [&] { return invalid_argument(cat(origin, ": pace_us: wanted [[steps, us], ...] of all steps")); };
  if (!paces->is_array()) return wrong();
  for (const Json& run : *paces) {
    if (!run.is_array() || run.size() != 2 || !run[0].is_number_unsigned() || !run[1].is_number()) return wrong();
    const auto count = run[0].get<uint64_t>();
    const auto us = run[1].get<double>();
    if (count > steps.us.size() - steps.pace_us.size() || !(us > 0)) return wrong();
    steps.pace_us.resize(steps.pace_us.size() + count, us);
  }
  const Json threads = json.value("pace_threads", Json(1U));
  if (!threads.is_number_unsigned() || threads.get<uint64_t>() < 1)
    return invalid_argument(cat(origin, ": pace_threads: ", threads.dump(), " is not a number of threads"));
  steps.pace_threads = static_cast<int>(std::min<uint64_t>(threads.get<uint64_t>(), INT_MAX));
  return steps.pace_us.size() == steps.us.size() ? ok_status() : wrong();
}

std::vector<std::string> texts_at(const Json& json, const char* key) {
  std::vector<std::string> texts;
  const auto at = json.find(key);
  if (at == json.end() || !at->is_array()) return texts;
  for (const Json& text : *at) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) append(out, out.empty() ? "" : " ", text);
  return out.empty() ? "none" : out;
}

}  // namespace

std::string bench_json(const BenchReport& r) {
  const BenchResult& b = *r.result;
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kBench).member("kind", "bench");
  write_bench_facts(json, b.facts);
  json.member("others", b.steps.others);
  json.member("first_step_us", b.first_step_us).member("warmup", b.warmup).member("rounds", b.rounds);
  json.member("traced_step_us", b.traced_step_us);
  write_percentiles(json, b.steps.us);
  write_change(json, r);
  json.key("predicted");
  r.predicted ? write_predicted(json, *r.predicted, b.costs, median_of(b.steps.us), *r.graph, *r.devices)
              : static_cast<void>(json.null());
  json.key("step_us").begin_array();
  for (const double us : b.steps.us) json.value(us);
  json.end_array();
  write_paces(json, b.steps.pace_us);
  json.member("pace_threads", b.steps.pace_threads);
  json.key("nodes").begin_array();
  for (const NodeCost& n : b.costs.nodes) write_node_cost(json, r, n);
  json.end_array().key("copies").begin_array();
  for (const CopyCost& c : b.costs.copies) {
    json.begin_object().member("name", r.graph->name(c.node)).member("from", r.devices->at(c.from).name);
    json.member("to", r.devices->at(c.to).name)
        .member("us", c.us)
        .member("bytes", c.bytes)
        .member("calls", c.calls)
        .end_object();
  }
  json.end_array();
  write_device_times(json, r);
  json.key("peak").begin_array();
  for (const DeviceMemory& m : b.memory)
    json.begin_object().member("device", r.devices->at(m.device).name).member("bytes", m.peak).end_object();
  json.end_array().key("error").null().end_object();
  return out + "\n";
}

Result<Baseline> read_baseline(std::string_view text, std::string_view file) {
  const std::string origin = printable(file);
  ASSIGN_OR_RETURN(const Json json, parse_json(text, origin));
  const auto samples = json.is_object() ? json.find("step_us") : json.end();
  if (!json.is_object() || text_at(json, "kind") != "bench" || samples == json.end() || !samples->is_array() ||
      samples->empty())
    return invalid_argument(cat(origin, ": no measurement: 'emplace bench GRAPH -o FILE' writes one"));
  RETURN_IF_ERROR(check_schema(Document::kBench, json.value("schema_version", Json()).dump()).with_context(origin));
  Baseline baseline;
  for (const Json& us : *samples) {
    if (!us.is_number() || !(us.get<double>() > 0))
      return invalid_argument(cat(origin, ": step_us: ", us.dump(), " is not a time"));
    baseline.steps.us.push_back(us.get<double>());
  }
  RETURN_IF_ERROR(read_paces(json, origin, baseline.steps));
  BenchFacts& f = baseline.facts;
  const Json graph = json.value("graph", Json::object());
  f.file = text_at(graph, "file");
  f.graph_hash = text_at(graph, "sha256");
  f.placement_hash = text_at(json, "placement_hash");
  f.machine = text_at(json, "machine");
  f.version = text_at(json, "version");
  if (const auto threads = json.find("threads"); threads != json.end() && threads->is_number_integer())
    f.threads = threads->get<int64_t>();
  if (const auto others = json.find("others"); others != json.end() && others->is_number())
    baseline.steps.others = others->get<double>();
  f.flags = texts_at(json, "flags");
  f.devices = texts_at(json, "devices");
  for (const Json& node : json.value("nodes", Json::array())) {
    if (!node.is_object()) continue;
    if (const auto us = node.find("us"); us != node.end() && us->is_number())
      baseline.node_us[text_at(node, "name")] = us->get<double>();
  }
  return baseline;
}

std::vector<std::string> different_facts(const BenchFacts& before, const BenchFacts& after) {
  std::vector<std::string> texts;
  const auto compare = [&](std::string_view what, const std::string& was, const std::string& is) {
    if (was != is) texts.push_back(cat(what, " ", is, ", was ", was));
  };
  compare("graph", before.graph_hash.substr(0, 8), after.graph_hash.substr(0, 8));
  compare("placement", before.placement_hash, after.placement_hash);
  compare("machine", before.machine, after.machine);
  compare("threads", std::to_string(before.threads), std::to_string(after.threads));
  compare("devices", joined(before.devices), joined(after.devices));
  const auto others = [](const std::vector<std::string>& all, const std::vector<std::string>& known) {
    std::vector<std::string> out;
    for (const std::string& flag : all) {
      if (std::find(known.begin(), known.end(), flag) == known.end()) out.push_back(flag);
    }
    return joined(out);
  };
  compare("flags", others(before.flags, after.flags), others(after.flags, before.flags));
  compare("version", before.version, after.version);
  return texts;
}

}  // namespace emplace
