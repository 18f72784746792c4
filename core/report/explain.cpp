#include "core/report/explain.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/graph/lookup.h"
#include "core/graph/node_position.h"
#include "core/report/explain_facts.h"
#include "core/report/left_out.h"
#include "core/report/placement_log.h"

namespace emplace {
namespace {

constexpr size_t kShownMembers = 20, kShownMoves = 5;

// --- text ---

/// "12.0 us by itself (measured, spread 3.0 %)"
std::string cost_text(const CostEstimate& cost) {
  const std::string spread = cost.spread > 0 ? cat(", spread ", percent_text(cost.spread)) : "";
  return cat(time_text(cost.us / 1e6), " by itself (", cost_source_name(cost.source), spread, ')');
}

class TextWriter {
 public:
  explicit TextWriter(const ExplainInput& in) : in_(in), graph_(in.file.graph) {}

  void add(const NodeExplanation& e);
  std::string take() { return std::move(out_); }

 private:
  std::string device(DeviceId d) const { return short_device_name(in_.devices, d); }
  void add_group(const NodeExplanation& e);
  void add_copies(const NodeExplanation& e);
  void add_changes(const NodeExplanation& e);

  const ExplainInput& in_;
  const Graph& graph_;
  std::string out_;
};

void TextWriter::add(const NodeExplanation& e) {
  const Decision& d = in_.placement.of(e.node);
  append(out_, out_.empty() ? "" : "\n", graph_.name(e.node), " (", graph_.op(e.node), ") is on ", device(d.device),
         "\n  why: ", reason_code(d.reason), ": ", e.reason, '\n');
  if (const std::string at = node_position(graph_, in_.file.source.get(), e.node); !at.empty())
    append(out_, "  at: ", at, '\n');
  if (!e.origin.empty()) append(out_, "  from: ", e.origin, '\n');
  if (!e.in_run.empty()) append(out_, "  in a run: ", e.in_run, '\n');
  if (const auto request = requested_device(graph_, in_.options, e.node); !request.empty()) {
    append(out_, "  asks for: ", request, '\n');
  }
  out_ += "  devices:\n";
  for (const Candidate& c : e.candidates) {
    append(out_, "    ", device(c.device), ": ", verdict_code(c.verdict));
    if (const CostEstimate* cost = cost_on(in_, e.node, c.device)) append(out_, ", ", cost_text(*cost));
    out_ += '\n';
  }
  add_group(e);
  add_copies(e);
  add_changes(e);
}

void TextWriter::add_group(const NodeExplanation& e) {
  if (e.group_size == 0) return;
  append(out_, "  group: ", e.group_size, " nodes must be on one device\n");
  for (const auto& [n, why] : e.group) append(out_, "    ", graph_.name(n), " (", graph_.op(n), "): ", why, '\n');
  if (e.group_size > e.group.size()) append(out_, "    and ", e.group_size - e.group.size(), " more\n");
}

void TextWriter::add_copies(const NodeExplanation& e) {
  if (e.copies.empty()) return;
  out_ += "  copies, each step:\n";
  for (const Copy* c : e.copies) {
    append(out_, "    ", c->control ? "^" : "", graph_.name(c->tensor.node));
    if (!c->control) append(out_, ':', c->tensor.slot);
    if (c->inside) {
      append(out_, "  to ", c->received_in == MemoryKind::kHost ? "host" : "device", " memory of ", device(c->to));
    } else {
      append(out_, "  ", device(c->from), " -> ", device(c->to));
    }
    if (c->bytes && !c->control) append(out_, "  ", size_text(*c->bytes));
    if (const auto us = copy_us(in_, *c)) append(out_, "  ", time_text(*us / 1e6));
    out_ += '\n';
  }
}

void TextWriter::add_changes(const NodeExplanation& e) {
  for (const auto& [wanted, search] : e.changes) {
    for (const Change& c : search.works) {
      append(out_, "  to have it on ", wanted, ": ", c.text);
      if (!c.moves.empty()) {
        append(out_, "; moves ", counted(static_cast<int64_t>(c.moves.size()), "other node"), ": ");
        for (size_t i = 0; i < std::min(kShownMoves, c.moves.size()); ++i) {
          append(out_, i ? ", " : "", graph_.name(c.moves[i]));
        }
        if (c.moves.size() > kShownMoves) out_ += ", ...";
      }
      out_ += '\n';
    }
    for (const std::string& obstacle : search.obstacles) append(out_, "  not on ", wanted, ": ", obstacle, '\n');
  }
}

// --- JSON ---

void write_changes(const ExplainInput& in, const NodeExplanation& e, JsonWriter& json) {
  json.key("changes").begin_array();
  for (const auto& [wanted, search] : e.changes) {
    for (const Change& c : search.works) {
      json.begin_object().member("to", wanted).member("works", true).member("change", c.text);
      json.member("device", in.devices.at(c.device).name).key("moves").begin_array();
      for (NodeId n : c.moves) json.value(in.file.graph.name(n));
      json.end_array().end_object();
    }
    for (const std::string& obstacle : search.obstacles) {
      json.begin_object().member("to", wanted).member("works", false).member("obstacle", obstacle).end_object();
    }
  }
  json.end_array();
}

void write_node(const ExplainInput& in, const NodeExplanation& e, JsonWriter& json) {
  const Graph& graph = in.file.graph;
  const Decision& d = in.placement.of(e.node);
  json.begin_object().member("name", graph.name(e.node)).member("op", graph.op(e.node));
  if (const std::string at = node_position(graph, in.file.source.get(), e.node); !at.empty()) json.member("at", at);
  if (!e.origin.empty()) json.member("origin", e.origin);
  if (!e.in_run.empty()) json.member("in_run", e.in_run);
  json.member("requested", requested_device(graph, in.options, e.node)).member("device", in.devices.at(d.device).name);
  json.key("reason").begin_object().member("code", reason_code(d.reason)).member("text", e.reason).end_object();
  json.key("candidates").begin_array();
  for (const Candidate& c : e.candidates) {
    json.begin_object().member("device", in.devices.at(c.device).name).member("verdict", verdict_code(c.verdict));
    if (const CostEstimate* cost = cost_on(in, e.node, c.device)) {
      json.member("us", cost->us).member("spread", cost->spread);
      json.member("source", cost_source_name(cost->source));
    }
    json.end_object();
  }
  json.end_array().key("group").begin_array();
  for (const auto& m : e.group) {
    json.begin_object()
        .member("name", graph.name(m.node))
        .member("op", graph.op(m.node))
        .member("why", m.why)
        .end_object();
  }
  json.end_array().key("copies").begin_array();
  for (const Copy* c : e.copies) {
    json.begin_object().member(
        "tensor", cat(c->control ? "^" : "", graph.name(c->tensor.node), c->control ? "" : cat(':', c->tensor.slot)));
    json.member("from", in.devices.at(c->from).name).member("to", in.devices.at(c->to).name);
    json.member("memory", c->received_in == MemoryKind::kHost ? "host" : "device").key("bytes");
    c->bytes ? json.value(*c->bytes) : json.null();
    if (const auto us = copy_us(in, *c)) json.member("us", *us);
    json.end_object();
  }
  json.end_array();
  write_changes(in, e, json);
  json.end_object();
}

// --- the summary by reason ---

struct ReasonCount {
  int64_t nodes = 0;
  std::map<DeviceId, int64_t> on;
  NodeId example = kNoNode;
};

std::array<ReasonCount, kReasonCount> count_reasons(const Placement& placement) {
  std::array<ReasonCount, kReasonCount> counts;
  for (NodeId node : placement.order) {
    const Decision& d = placement.of(node);
    ReasonCount& c = counts[static_cast<size_t>(d.reason)];
    if (c.nodes++ == 0) c.example = node;
    ++c.on[d.device];
  }
  return counts;
}

std::string summary_text(const ExplainInput& in, std::span<const LeftOut> left_out) {
  std::string out = placement_summary(in.file.graph, in.devices, in.options, in.placement, in.copies) + '\n';
  const auto counts = count_reasons(in.placement);
  for (size_t i = 0; i < counts.size(); ++i) {
    const ReasonCount& c = counts[i];
    if (c.nodes == 0) continue;
    const std::string_view code = reason_code(static_cast<Reason>(i));
    append(out, "  ", code, ": ", counted(c.nodes, "node"), " (");
    bool first = true;
    for (const auto& [device, nodes] : c.on) {
      append(out, first ? "" : ", ", short_device_name(in.devices, device), ' ', nodes);
      first = false;
    }
    append(out, "), such as ", in.file.graph.name(c.example), ": ", reason_text(in.placement, c.example), '\n');
  }
  if (!left_out.empty()) append(out, "  in a run: ", left_out_summary(in.file.graph, left_out), '\n');
  return out;
}

std::string summary_json(const ExplainInput& in) {
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kExplanation).key("reasons").begin_array();
  const auto counts = count_reasons(in.placement);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].nodes == 0) continue;
    json.begin_object().member("code", reason_code(static_cast<Reason>(i))).member("nodes", counts[i].nodes);
    json.key("devices").begin_object();
    for (const auto& [device, nodes] : counts[i].on) json.member(in.devices.at(device).name, nodes);
    json.end_object().member("example", in.file.graph.name(counts[i].example)).end_object();
  }
  json.end_array().end_object();
  return out + '\n';
}

// --- the request ---

// "GPU:0", "/gpu:0", "gpu", a full or partial name.
Result<std::optional<DeviceName>> wanted_device(const std::string& text) {
  if (text.empty()) return std::optional<DeviceName>();
  if (const auto typed = device_as_typed(text)) {
    if (const auto name = DeviceName::parse(*typed); name && !name->empty()) return std::optional<DeviceName>(*name);
  }
  return invalid_argument(cat("--on '", printable(text),
                              "' is not a device name; wanted something like GPU:0 or /job:worker/task:1/gpu:0"));
}

Result<NodeId> named_node(const Graph& graph, const std::string& name) {
  NodeId node = graph.find(name);
  if (node == kNoNode) node = graph.find(name.substr(0, name.rfind(':')));  // "x:0" is an output of x
  NameError error;
  if (node == kNoNode && find_node(graph, name, error) == kNoNode) return not_found(error.text());
  return node;
}

}  // namespace

Result<std::string> explain(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                            const Placement& placement, const CopyPlan& copies, const ExplainRequest& request) {
  const CopiesByNode by_node(copies, request.automatic);
  const ExplainInput in{file, devices, options, placement, copies, by_node, request.automatic, request.by_cost};
  if (request.nodes.empty() && !request.on_device.empty())
    return invalid_argument("--on: name the node to move: emplace explain GRAPH NODE --on DEVICE");
  if (request.nodes.empty()) return request.json ? summary_json(in) : summary_text(in, request.left_out);
  ASSIGN_OR_RETURN(const std::optional<DeviceName> on, wanted_device(request.on_device));
  std::vector<NodeId> nodes;
  for (const std::string& name : request.nodes) {
    ASSIGN_OR_RETURN(const NodeId node, named_node(file.graph, name));
    nodes.push_back(node);
  }
  TextWriter text(in);
  std::string out;
  JsonWriter json(out);
  if (request.json) write_schema(json.begin_object(), Document::kExplanation).key("nodes").begin_array();
  for (const NodeId node : nodes) {
    NodeExplanation e = explain_node(in, node, on, request.json ? SIZE_MAX : kShownMembers);
    if (request.origins) e.origin = request.origins->text(node);
    if (const LeftOut* l = find_left_out(request.left_out, node)) e.in_run = left_out_text(file.graph, *l);
    request.json ? write_node(in, e, json) : text.add(e);
  }
  if (!request.json) return text.take();
  json.end_array().end_object();
  return out + '\n';
}

}  // namespace emplace
