#include "core/graph/lower/inliner.h"

#include <optional>
#include <utility>

#include "core/base/cat.h"
#include "core/device/device_name.h"
#include "core/graph/colocation.h"
#include "core/graph/lower/attr_reading.h"

namespace emplace {
namespace {

constexpr uint32_t kMaxDepth = 200;  // calls in calls; more is no program that anybody wrote

}  // namespace

/// A call that is being inlined.
struct Inliner::Inlining {
  const Body& body;
  bool multi_device;
  uint32_t origin;                // of the body's nodes
  NodeId start = kNoNode;         // the input_control_node; kNoNode: none
  std::vector<NodeId> arguments;  // Identities
  std::vector<NodeId> copies;     // by node of the body; of an argument its Identity

  Endpoint at(Endpoint e) const { return {copies[e.node], e.slot}; }
};

Result<const Body*> Inliner::body_to_inline(NodeId node, FunctionalOp kind) {
  const NodeFacts& facts = grown_.facts(node);
  const FuncValue* function = facts.call;
  FuncValue native;
  if (!function && kind == FunctionalOp::kCall) function = function_attr(*facts.type, "f");
  if (!function && kind == FunctionalOp::kNativeCall) {
    native.name = graph_.text(graph_.node(node).op);
    for (const auto& [name, of_call] : facts.type->attrs) native.attrs.emplace_back(name, *of_call);
    function = &native_calls_.emplace_back(std::move(native));
  }
  if (!function) return grown_.failure(grown_.open_site(node), Code::kInvalidArgument, "says no function to call");
  Result<const Body*> body = bodies_.find(*function);
  if (!body.ok()) {
    // A missing function that does not have to run is reported by the placer.
    if (!facts.call && facts.type && !options_.inline_calls) return nullptr;
    return grown_.failure(grown_.open_site(node), body.status().code(), body.status().message());
  }
  const Node& call = graph_.node(node);
  const size_t num_outputs = facts.type ? facts.type->output_types.size() : facts.call_outputs;
  const bool fits = (*body)->arguments.size() == call.num_inputs && (*body)->results.size() == num_outputs;
  if (!fits && facts.call) {
    return grown_.failure(grown_.open_site(node), Code::kInvalidArgument,
                          cat("function '", (*body)->function, "' has ", (*body)->arguments.size(), " arguments and ",
                              (*body)->results.size(), " results; wanted are ", call.num_inputs, " and ", num_outputs));
  }
  const bool stays = (*body)->stays_call || keeps_side_effects(node, kind, **body);
  return (stays && !options_.all) || !fits ? nullptr : *body;
}

bool Inliner::is_multi_device(NodeId node, FunctionalOp kind) const {
  const NodeFacts& facts = grown_.facts(node);
  if (kind == FunctionalOp::kCall) return true;
  return facts.call ? !facts.single_device : flag_set(*facts.type, "_lower_as_multi_device_function");
}

bool Inliner::keeps_side_effects(NodeId node, FunctionalOp kind, const Body& body) const {
  if (!options_.keep_side_effects) return false;
  const SideEffects& effects = body.effects;
  if (effects.nodes.empty()) return effects.dead_results;
  const NodeFacts& facts = grown_.facts(node);
  const bool all_run = is_multi_device(node, kind) ? effects.behind_controls : effects.behind_results;
  return effects.dead_results || !all_run || !(facts.waited_for_alone || facts.kept || options_.keep_all);
}

Status Inliner::check_growth(const FunctionalSite& site, const Body& body) {
  std::string path;
  if (grown_.origins.is_inside(site.caller, body.function, path)) {
    return grown_.failure(site, Code::kInvalidArgument,
                          cat("function '", body.function, "' calls itself: ", path,
                              "; calls are replaced by their bodies before placement"));
  }
  if (grown_.origins.at(site.caller).depth >= kMaxDepth) {
    return grown_.failure(site, Code::kInvalidArgument,
                          cat("functions that call each other are nested more than ", kMaxDepth, " deep"));
  }
  if (grown_.next_id() + uint64_t{body.graph->num_nodes()} > options_.max_nodes) {
    return grown_.failure(site, Code::kResourceExhausted,
                          cat("with the body of function '", body.function, "' the graph would have more than ",
                              options_.max_nodes, " nodes; --max-nodes allows more"));
  }
  return ok_status();
}

Status Inliner::inline_call(NodeId node, FunctionalOp kind, const Body& body) {
  FunctionalSite site = grown_.open_site(node);
  RETURN_IF_ERROR(check_growth(site, body));
  const uint32_t depth = grown_.origins.at(site.caller).depth + 1;
  site.origin = grown_.origins.add({site.name, {}, site.caller, depth - 1});
  Inlining in{body,
              is_multi_device(node, kind),
              grown_.origins.add({site.name, body.function, site.caller, depth}),
              kNoNode,
              {},
              {}};

  const std::string prefix = cat("Func/", site.name);
  const MadeNode no_op{grown_.ops.no_op, site.device, 0, site.origin};
  // In TensorFlow's graph, a node of the file that reads nothing has a control edge from the graph's source.
  const bool from_source = site.inputs.empty() && grown_.is_of_file(node);
  if (!site.controls.empty() || from_source)
    in.start = grown_.add(grown_.new_name(prefix, "input_control_node"), no_op, {}, site.controls);
  const std::span<const NodeId> start{&in.start, in.start == kNoNode ? size_t{0} : size_t{1}};
  for (const Endpoint& source : site.inputs) {
    MadeNode identity{grown_.ops.identity, site.device, 0, site.origin};
    if (in.multi_device) {
      identity.device = grown_.device_of(source.node);
      identity.attr_set = grown_.colocation_with(source.node);
    }
    in.arguments.push_back(grown_.add(grown_.new_name(prefix, "input"), identity, {&source, 1}, start));
  }
  copy_body(site, in);

  std::vector<Endpoint> outputs;
  std::vector<NodeId> controls;
  const std::vector<NodeId> effects = effects_of_staying(node, kind, in);
  for (NodeId result : body.results) {
    const Endpoint value = in.at(body.graph->inputs(result)[0]);
    controls = effects;
    for (const Endpoint& e : body.graph->controls(result)) controls.push_back(in.copies[e.node]);
    MadeNode identity{grown_.ops.identity, in.multi_device ? 0 : site.device, 0, site.origin};
    if (in.multi_device) identity.attr_set = grown_.colocation_with(value.node);
    outputs.push_back({grown_.add(grown_.new_name(prefix, "output"), identity, {&value, 1}, controls), 0});
  }
  NodeId end = kNoNode;
  if (grown_.facts(node).waited_for || site.kept) {
    controls.clear();
    if (in.multi_device) {
      for (NodeId result : body.control_results) controls.push_back(in.copies[result]);
    } else {
      for (const Endpoint& output : outputs) controls.push_back(output.node);
      controls.insert(controls.end(), effects.begin(), effects.end());
    }
    if (controls.empty() && in.start != kNoNode) controls.push_back(in.start);
    end = grown_.add(grown_.new_name(prefix, "output_control_node"), no_op, {}, controls);
  }
  grown_.replace(site, outputs, end);
  if (site.kept) grown_.keep_name(site, outputs, end);
  return ok_status();
}

// A call that stays runs as a whole before its results are there: a native one with all side effects of its body,
// others with those behind its control results. Inlined, it has to do the same.
std::vector<NodeId> Inliner::effects_of_staying(NodeId node, FunctionalOp kind, const Inlining& in) const {
  std::vector<NodeId> effects;
  if (!keeps_side_effects(node, kind, in.body)) return effects;
  for (NodeId effect : in.multi_device ? in.body.control_results : in.body.effects.nodes)
    effects.push_back(in.copies[effect]);
  return effects;
}

void Inliner::copy_body(const FunctionalSite& site, Inlining& in) {
  const Graph& body = *in.body.graph;
  in.copies.resize(body.num_nodes(), kNoNode);
  NodeId next = grown_.next_id();
  for (NodeId id = 0; id < body.num_nodes(); ++id) {
    const FunctionalOp kind = in.body.items[id].kind;
    if (kind == FunctionalOp::kArgument) {
      in.copies[id] = in.arguments[in.body.ends[id]];
    } else if (kind != FunctionalOp::kResult) {
      in.copies[id] = next++;
    }
  }
  std::string name = cat(site.name, "/");
  const size_t prefix = name.size();
  for (NodeId id = 0; id < body.num_nodes(); ++id) {
    const Body::Item& item = in.body.items[id];
    if (item.kind == FunctionalOp::kArgument || item.kind == FunctionalOp::kResult) continue;
    const uint32_t device = in.multi_device ? merged_device(item.device, site.device) : site.device;
    const bool own_attrs = item.has_class || item.kind == FunctionalOp::kEnter;
    const uint32_t attr_set = own_attrs ? body_attrs(site, in, item) : item.attr_set;
    name.resize(prefix);
    name.append(body.name(id));
    const NodeId copy = grown_.begin_node(graph_.keep(name), {item.op, device, attr_set, in.origin});
    const auto inputs = body.inputs(id), controls = body.controls(id);
    for (const Endpoint& e : inputs) grown_.add_input(in.at(e));
    for (const Endpoint& e : controls) {
      grown_.add_control(in.copies[e.node]);
      if (in.copies[e.node] > copy) later_.push_back(in.copies[e.node]);
    }
    // Nodes without inputs would run whether or not the call does: they wait for its start. Inner calls hand that on.
    const bool calls = item.kind == FunctionalOp::kCall || item.kind == FunctionalOp::kNativeCall;
    if (in.start != kNoNode && controls.empty() && (calls || inputs.empty())) grown_.add_control(in.start);
    graph_.nodes_[copy].position = body.node(id).position;
    grown_.facts(copy).type = &body.type(id);
    if (item.kind == FunctionalOp::kEnter) {
      const AttrValue* constant = body.attrs(id).find("is_constant");
      grown_.facts(copy).constant_enter = constant && constant->get_if<bool>() && constant->get<bool>();
    }
  }
  for (NodeId node : later_) grown_.facts(node).waited_for = true;
  later_.clear();
}

// Names in `_class` and of frames are those of the copies.
uint32_t Inliner::body_attrs(const FunctionalSite& site, const Inlining& in, const Body::Item& item) {
  std::vector<Attrs::Entry> entries = graph_.attr_sets_[item.attr_set];
  for (Attrs::Entry& entry : entries) {
    if (const auto* frame = entry.second->get_if<std::string>(); frame && entry.first == "frame_name") {
      entry.second = add_value(graph_, AttrValue::of(cat(site.name, "/", *frame)));
    }
    const auto* groups = entry.first == "_class" ? entry.second->get_if<std::vector<std::string>>() : nullptr;
    if (!groups) continue;
    std::vector<std::string> renamed = *groups;
    for (std::string& group : renamed) {
      if (!std::string_view(group).starts_with(kColocationPrefix)) continue;
      const std::string_view member = std::string_view(group).substr(kColocationPrefix.size());
      const NodeId node = in.body.graph->find(member);
      if (node == kNoNode) continue;
      group = in.body.items[node].kind == FunctionalOp::kArgument ? cat(kColocationPrefix, graph_.name(in.copies[node]))
                                                                  : cat(kColocationPrefix, site.name, "/", member);
    }
    entry.second = add_value(graph_, AttrValue::list_of(AttrKind::kString, std::move(renamed)));
  }
  return add_attrs(graph_, std::move(entries));
}

// The body's own request, with the fields that it lacks from the call's.
uint32_t Inliner::merged_device(uint32_t own, uint32_t callers) {
  if (own == 0) return callers;
  auto [known, is_new] = merged_devices_.try_emplace(uint64_t{own} << 32 | callers, own);
  if (!is_new) return known->second;
  std::optional<DeviceName> name = DeviceName::parse(graph_.text(own));
  const std::optional<DeviceName> base = callers == 0 ? DeviceName() : DeviceName::parse(graph_.text(callers));
  if (!name || !base) return own;  // the placer says what is wrong with it
  DeviceName whole = *base;
  whole.ensure_specification(*name);
  return known->second = graph_.intern(whole.to_string());
}

}  // namespace emplace
