#include "core/report/launches_report.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/graph/lookup.h"

namespace emplace {
namespace {

struct Why {
  std::string_view code, text;
};
Why why(NotJoined reason) {
  switch (reason) {
    case NotJoined::kNone:
      return {};
    case NotJoined::kFirst:
      return {"nothing_before", "nothing elementwise and no product runs right before it"};
    case NotJoined::kNotElementwise:
      return {"not_elementwise", "it is not elementwise for these shapes"};
    case NotJoined::kOtherDevice:
      return {"other_device", "it is on another device"};
    case NotJoined::kOtherSize:
      return {"other_size", "it has another number of elements"};
    case NotJoined::kReadsNone:
      return {"reads_nothing", "it reads nothing that the launch before it makes"};
    case NotJoined::kFactors:
      return {"factors", "the launch before it makes what it has to know before its first element"};
    case NotJoined::kFull:
      return {"full", "the launch before it has as many steps as one may"};
  }
  return {};
}

constexpr size_t kNoLaunch = ~size_t{0};
constexpr size_t kShownNodes = 20;

class Report {
 public:
  Report(const Graph& graph, const DeviceSet& devices, const StepFacts& facts)
      : graph_(graph), devices_(devices), facts_(facts), launch_of_(graph.num_nodes(), kNoLaunch) {
    for (size_t i = 0; i < facts.launches.size(); ++i) {
      for (const NodeId n : facts.launches[i].nodes) launch_of_[n] = i;
    }
  }

  size_t launch_of(NodeId node) const { return launch_of_[node]; }

  /// Why a node has no launch.
  Why elsewhere(NodeId node) const {
    const auto has = [&](const std::vector<NodeId>& nodes) {
      return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    };
    if (has(facts_.once)) return {"once", "worked out once, with the plan: constants alone decide it"};
    if (has(facts_.not_launched) && graph_.traits(node).constant) return {"constant", "a constant: it is there"};
    if (has(facts_.not_launched)) return {"no_work", "no work: what it gives is there, maybe under another name"};
    if (graph_.traits(node).placeholder) return {"fed", "fed, or not needed"};
    return {"not_needed", "no part of the step"};
  }

  void add_text(size_t number, std::string& out) const {
    const LaunchFacts& f = facts_.launches[number];
    append(out, "launch ", number + 1, " of ", facts_.launches.size(), " on ", short_device_name(devices_, f.device),
           ": ");
    for (size_t i = 0; i < std::min(kShownNodes, f.nodes.size()); ++i)
      append(out, i ? ", " : "", graph_.name(f.nodes[i]), " (", graph_.op(f.nodes[i]), ')');
    if (f.nodes.size() > kShownNodes) append(out, " and ", f.nodes.size() - kShownNodes, " more");
    out += '\n';
    if (!f.how.empty()) append(out, "  ", graph_.name(f.nodes.front()), ": ", f.how, '\n');
    if (!f.loops.empty()) append(out, "  ", f.begins_with_product ? "the others: " : "in ", f.loops, '\n');
    if (f.not_joined != NotJoined::kNone && number > 0)
      append(out, "  not with the launch before: ", graph_.name(f.nodes.front()), ": ", why(f.not_joined).text, '\n');
    if (number + 1 == facts_.launches.size()) return;
    const LaunchFacts& next = facts_.launches[number + 1];
    if (next.not_joined != NotJoined::kNone)
      append(out, "  ends before ", graph_.name(next.nodes.front()), ": ", why(next.not_joined).text, '\n');
  }

  void add_json(size_t number, JsonWriter& json) const {
    const LaunchFacts& f = facts_.launches[number];
    json.begin_object().member("launch", static_cast<int64_t>(number));
    json.member("device", devices_.at(f.device).name).key("nodes").begin_array();
    for (const NodeId n : f.nodes)
      json.begin_object().member("name", graph_.name(n)).member("op", graph_.op(n)).end_object();
    json.end_array().member("product_first", f.begins_with_product).member("how", f.how).member("loops", f.loops);
    json.key("not_with_the_one_before").begin_object().member("code", why(f.not_joined).code);
    json.member("text", why(f.not_joined).text).end_object().end_object();
  }

 private:
  const Graph& graph_;
  const DeviceSet& devices_;
  const StepFacts& facts_;
  std::vector<size_t> launch_of_;  // by node
};

std::string all_text(const Graph& graph, const Report& report, const StepFacts& facts) {
  std::string out;
  for (size_t i = 0; i < facts.launches.size(); ++i) report.add_text(i, out);
  append(out, counted(static_cast<int64_t>(facts.once.size()), "node"), " worked out once, with the plan");
  for (size_t i = 0; i < std::min(kShownNodes, facts.once.size()); ++i)
    append(out, i ? ", " : ": ", graph.name(facts.once[i]));
  return out + (facts.once.size() > kShownNodes ? ", ...\n" : "\n");
}

}  // namespace

Result<std::string> explain_launches(const Graph& graph, const DeviceSet& devices, const StepFacts& facts,
                                     const std::vector<std::string>& nodes, bool json) {
  const Report report(graph, devices, facts);
  std::vector<NodeId> asked;
  for (const std::string& name : nodes) {
    NameError error;
    const NodeId node = find_node(graph, name, error);
    if (node == kNoNode) return not_found(error.text());
    asked.push_back(node);
  }
  if (!json) {
    if (asked.empty()) return all_text(graph, report, facts);
    std::string out;
    for (const NodeId node : asked) {
      const size_t launch = report.launch_of(node);
      append(out, graph.name(node), " (", graph.op(node), "): ");
      launch == kNoLaunch ? append(out, report.elsewhere(node).text, '\n') : report.add_text(launch, out);
    }
    return out;
  }
  std::string out;
  JsonWriter w(out);
  write_schema(w.begin_object(), Document::kExplanation).key("launches").begin_array();
  for (size_t i = 0; i < facts.launches.size(); ++i) report.add_json(i, w);
  w.end_array().key("once").begin_array();
  for (const NodeId n : facts.once) w.value(graph.name(n));
  w.end_array().key("nodes").begin_array();
  for (const NodeId node : asked) {
    const size_t launch = report.launch_of(node);
    w.begin_object().member("name", graph.name(node)).key("launch");
    launch == kNoLaunch ? w.null() : w.value(static_cast<int64_t>(launch));
    if (launch == kNoLaunch) w.member("code", report.elsewhere(node).code).member("text", report.elsewhere(node).text);
    w.end_object();
  }
  w.end_array().end_object();
  return out + '\n';
}

}  // namespace emplace
