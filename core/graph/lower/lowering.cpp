#include "core/graph/lower/lowering.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/colocation.h"

namespace emplace {
namespace {

bool flag_set(const NodeType& type, std::string_view name) {
  const AttrValue* value = type.view().find(name);
  const bool* flag = value ? value->get_if<bool>() : nullptr;
  return flag && *flag;
}

// Attrs of nodes that XLA or a TPU compiles: TensorFlow does not lower these.
bool is_compiled(const NodeType& type) {
  const auto text = [&](std::string_view name) {
    const AttrValue* value = type.view().find(name);
    const std::string* string = value ? value->get_if<std::string>() : nullptr;
    return string && !string->empty();
  };
  return flag_set(type, "_XlaMustCompile") || text("_xla_compile_id") || text("_tpu_replicate");
}

void add_once(std::vector<NodeId>& nodes, NodeId node) {
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

}  // namespace

Lowering::Lowering(const GraphFile& file, const LowerOptions& options, Graph& target, Lowered& lowered,
                   std::vector<std::unique_ptr<Graph>>& instances)
    : file_(file),
      options_(options),
      graph_(target),
      origins_(lowered.origins),
      bodies_(file, target, instances),
      identity_(op_id("Identity")),
      identity_n_(op_id("IdentityN")),
      no_op_(op_id("NoOp")),
      merge_(op_id("Merge")),
      switch_(op_id("Switch")),
      switch_n_(op_id("_SwitchN")),
      enter_(op_id("Enter")),
      placeholder_(op_id("Placeholder")) {
  copy_nodes();
}

void Lowering::copy_nodes() {
  const Graph& from = file_.graph;
  graph_.nodes_ = from.nodes_;
  graph_.edges_ = from.edges_;
  first_made_ = from.num_nodes();
  facts_.resize(first_made_);
  for (NodeId id = 0; id < first_made_; ++id) {
    facts_[id].type = &from.type(id);
    for (const Endpoint& e : from.controls(id)) facts_[e.node].waited_for = true;
    const FunctionalOp kind = bodies_.kind_of(from.node(id).op);
    if (kind == FunctionalOp::kArgument || kind == FunctionalOp::kResult) is_function_ = true;
    if (kind == FunctionalOp::kEnter) facts_[id].constant_enter = flag_set(from.type(id), "is_constant");
  }
  for (NodeId id : options_.left_alone) facts_[id].left_alone = true;
  for (NodeId id : options_.kept) facts_[id].kept = true;
}

Status Lowering::run() {
  for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
    if (facts_[node].signpost == kNone && !facts_[node].left_alone) RETURN_IF_ERROR(visit(node));
  }
  return ok_status();
}

Status Lowering::visit(NodeId node) {
  const FunctionalOp kind = bodies_.kind_of(graph_.node(node).op);
  switch (kind) {
    case FunctionalOp::kIf:
    case FunctionalOp::kCase:
    case FunctionalOp::kWhile:
      return lower_control_flow(node, kind);
    case FunctionalOp::kCall:
    case FunctionalOp::kNativeCall: {
      if (!options_.inline_calls && node < first_made_) return ok_status();
      ASSIGN_OR_RETURN(const Body* body, body_to_inline(node, kind));
      return body ? inline_call(node, kind, *body) : ok_status();
    }
    default:
      return ok_status();
  }
}

Status Lowering::lower_control_flow(NodeId node, FunctionalOp kind) {
  const NodeType* type = facts_[node].type;
  if (!type) return ok_status();
  const bool marked = flag_set(*type, "_lower_using_switch_merge") && !is_compiled(*type);
  if (!marked && !options_.all) return ok_status();
  Site site = open_site(node);
  site.origin = origins_.add({site.name, {}, site.caller, origins_.at(site.caller).depth});
  if (kind == FunctionalOp::kIf) return lower_if(site);
  if (kind == FunctionalOp::kCase) return lower_case(site);
  return lower_while(site);
}

Lowering::Site Lowering::open_site(NodeId node) {
  const Facts& facts = facts_[node];
  Site site{node, graph_.name(node), device_of(node), facts.type, facts.origin, facts.origin, {}, {}, is_kept(node)};
  for (const Endpoint& e : graph_.inputs(node)) site.inputs.push_back(resolve(e));
  for (const Endpoint& e : graph_.controls(node)) add_once(site.controls, resolve_control(e.node));
  if (options_.wait_for_sources) wait_for_sources(site);
  return site;
}

// What such a node is replaced by may run before all that it read is there: TensorFlow's function optimizer sees to
// that.
void Lowering::wait_for_sources(Site& site) {
  if (!site.controls.empty() || !site.type) return;
  const auto& types = site.type->input_types;
  const bool resource = std::find(types.begin(), types.end(), DType::kResource) != types.end();
  const bool constant = std::any_of(site.inputs.begin(), site.inputs.end(),
                                    [&](const Endpoint& e) { return facts_[e.node].constant_enter; });
  if (!resource && !constant) return;
  for (const Endpoint& e : site.inputs) {
    if (graph_.node(e.node).op == placeholder_) continue;
    add_once(site.controls, e.node);
    facts_[e.node].waited_for = true;
  }
}

Endpoint Lowering::resolve(Endpoint e) const {
  while (facts_[e.node].signpost != kNone)
    e = signpost_outputs_[signposts_[facts_[e.node].signpost].first_output + e.slot];
  return e;
}

NodeId Lowering::resolve_control(NodeId node) const {
  while (facts_[node].signpost != kNone) node = signposts_[facts_[node].signpost].control;
  return node;
}

void Lowering::replace(const Site& site, std::span<const Endpoint> outputs, NodeId control) {
  facts_[site.node].signpost = static_cast<uint32_t>(signposts_.size());
  signposts_.push_back({static_cast<uint32_t>(signpost_outputs_.size()), control});
  signpost_outputs_.insert(signpost_outputs_.end(), outputs.begin(), outputs.end());
}

void Lowering::keep_name(const Site& site, std::span<const Endpoint> outputs, NodeId control, bool outputs_wait) {
  const NodeId controls[] = {control};
  const bool fetchable = site.kept && !is_function_ && !outputs.empty();
  const std::span<const NodeId> waits(controls, outputs_wait ? 1 : 0);
  const NodeId node = fetchable ? add(site.name, {identity_n_, site.device, 0, site.origin}, outputs, waits)
                                : add(site.name, {no_op_, site.device, 0, site.origin}, {}, controls);
  facts_[node].origin = site.caller;
}

std::string_view Lowering::new_name(std::string_view prefix, std::string_view infix) {
  return graph_.keep(cat(prefix, "/", infix, "/_", counter_++));
}

Status Lowering::failure(const Site& site, Code code, std::string_view what) {
  failed_at_ = graph_.node(site.node).position;
  std::string where = origins_.chain_text(site.caller);
  return {code, cat("node '", site.name, "'", where.empty() ? "" : cat(", ", where), ": ", what)};
}

NodeId Lowering::add(std::string_view name, const NewOp& what, std::span<const Endpoint> inputs,
                     std::span<const NodeId> controls) {
  Node node;
  node.name = name;
  node.op = what.op;
  node.device = what.device;
  node.attr_set = what.attr_set;
  node.first_input = static_cast<uint32_t>(graph_.edges_.size());
  node.num_inputs = static_cast<uint32_t>(inputs.size());
  node.num_controls = static_cast<uint32_t>(controls.size());
  graph_.edges_.insert(graph_.edges_.end(), inputs.begin(), inputs.end());
  for (NodeId control : controls) {
    graph_.edges_.push_back({control, 0});
    if (control < facts_.size()) facts_[control].waited_for = true;
  }
  const NodeId id = next_id();
  graph_.nodes_.push_back(node);
  Facts& facts = facts_.emplace_back();
  facts.origin = what.origin;
  return id;
}

// The op is the function's name; what it is called with are attrs of the node.
NodeId Lowering::add_call(std::string_view name, const Site& site, const FuncValue& function, size_t num_outputs,
                          std::span<const Endpoint> inputs, std::span<const NodeId> controls) {
  static const AttrValue kTrue = AttrValue::of(true);
  std::vector<Attrs::Entry> entries;
  for (const auto& [attr, of_function] : function.attrs) entries.emplace_back(attr, &of_function);
  entries.emplace_back("_lower_as_multi_device_function", &kTrue);
  const NodeId call =
      add(name, {op_id(function.name), site.device, attrs(std::move(entries)), site.origin}, inputs, controls);
  facts_[call].call = &function;
  facts_[call].call_outputs = static_cast<uint32_t>(num_outputs);
  facts_[call].kept = false;
  return call;
}

uint32_t Lowering::attrs(std::vector<Attrs::Entry> entries) {
  graph_.attr_sets_.push_back(std::move(entries));
  return static_cast<uint32_t>(graph_.attr_sets_.size() - 1);
}

uint32_t Lowering::colocated_with(std::string_view name) {
  std::vector<std::string> groups{cat(kColocationPrefix, name)};
  return attrs({{"_class", value(AttrValue::list_of(AttrKind::kString, std::move(groups)))}});
}

const FuncValue* Lowering::function_attr(const NodeType& type, std::string_view name) {
  const AttrValue* found = type.view().find(name);
  return found ? found->get_if<FuncValue>() : nullptr;
}

std::vector<uint32_t> Lowering::finish() {
  std::vector<NodeId> new_id(graph_.num_nodes(), kNoNode);
  NodeId next = 0;
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    if (facts_[id].signpost == kNone) new_id[id] = next++;
  }
  std::vector<Node> nodes;
  std::vector<Endpoint> edges;
  std::vector<uint32_t> origins;
  std::vector<NodeId> controls;
  nodes.reserve(next);
  origins.reserve(next);
  edges.reserve(graph_.edges_.size());
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    if (new_id[id] == kNoNode) continue;
    Node node = graph_.node(id);
    node.first_input = static_cast<uint32_t>(edges.size());
    for (const Endpoint& e : graph_.inputs(id)) {
      const Endpoint source = resolve(e);
      edges.push_back({new_id[source.node], source.slot});
    }
    controls.clear();
    for (const Endpoint& e : graph_.controls(id)) add_once(controls, new_id[resolve_control(e.node)]);
    for (NodeId control : controls) edges.push_back({control, 0});
    node.num_controls = static_cast<uint32_t>(controls.size());
    nodes.push_back(node);
    origins.push_back(facts_[id].origin);
  }
  graph_.nodes_ = std::move(nodes);
  graph_.edges_ = std::move(edges);
  graph_.name_index_ = NameIndex();
  graph_.name_index_.reserve(graph_.nodes_.size());
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) graph_.index_name(id);
  return origins;
}

}  // namespace emplace
