#include "core/graph/lower/growing_graph.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/cat.h"
#include "core/graph/colocation.h"
#include "core/graph/lower/attr_reading.h"
#include "core/graph/lower/expected_nodes.h"

namespace emplace {
namespace {

void add_once(std::vector<NodeId>& nodes, NodeId node) {
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

bool reads_resource(const FunctionalSite& site) {
  if (!site.type) return false;
  const auto& types = site.type->input_types;
  return std::find(types.begin(), types.end(), DType::kResource) != types.end();
}

}  // namespace

MadeOps::MadeOps(Graph& graph)
    : identity(graph.intern("Identity")),
      identity_n(graph.intern("IdentityN")),
      no_op(graph.intern("NoOp")),
      merge(graph.intern("Merge")),
      switch_(graph.intern("Switch")),
      switch_n(graph.intern("_SwitchN")),
      enter(graph.intern("Enter")),
      placeholder(graph.intern("Placeholder")) {}

GrowingGraph::GrowingGraph(const GraphFile& file, const LowerOptions& options, Graph& target, Origins& origins_of,
                           Bodies& bodies)
    : graph(target), origins(origins_of), ops(target), options_(options) {
  const Graph& from = file.graph;
  const size_t expected = expected_nodes(file);
  graph.nodes_.reserve(expected);
  graph.edges_.reserve(2 * expected);
  facts_.reserve(expected);
  graph.nodes_ = from.nodes_;
  graph.edges_ = from.edges_;
  num_of_file_ = from.num_nodes();
  facts_.resize(num_of_file_);
  for (NodeId id = 0; id < num_of_file_; ++id) {
    facts_[id].type = &from.type(id);
    for (const Endpoint& e : from.controls(id)) {
      facts_[e.node].waited_for = true;
      const auto inputs = from.inputs(id);
      if (std::none_of(inputs.begin(), inputs.end(), [&](const Endpoint& i) { return i.node == e.node; }))
        facts_[e.node].waited_for_alone = true;
    }
    const FunctionalOp kind = bodies.kind_of(from.node(id).op);
    if (kind == FunctionalOp::kArgument || kind == FunctionalOp::kResult) is_function_ = true;
    if (kind == FunctionalOp::kEnter) facts_[id].constant_enter = flag_set(from.type(id), "is_constant");
  }
  for (NodeId id : options_.left_alone) facts_[id].left_alone = true;
  for (NodeId id : options_.kept) facts_[id].kept = true;
}

NodeId GrowingGraph::add(std::string_view name, const MadeNode& what, std::span<const Endpoint> inputs,
                         std::span<const NodeId> controls) {
  const NodeId id = begin_node(name, what);
  for (const Endpoint& input : inputs) add_input(input);
  for (NodeId control : controls) add_control(control);
  return id;
}

NodeId GrowingGraph::begin_node(std::string_view name, const MadeNode& what) {
  const NodeId id = next_id();
  Node& node = graph.nodes_.emplace_back();
  node.name = name;
  node.op = what.op;
  node.device = what.device;
  node.attr_set = what.attr_set;
  node.first_input = static_cast<uint32_t>(graph.edges_.size());
  facts_.emplace_back().origin = what.origin;
  return id;
}

// The op is the function's name; what it is called with are attrs of the node.
NodeId GrowingGraph::add_call(std::string_view name, const FunctionalSite& site, const FuncValue& function,
                              size_t num_outputs, std::span<const Endpoint> inputs, std::span<const NodeId> controls) {
  static const AttrValue kTrue = AttrValue::of(true);
  std::vector<Attrs::Entry> entries;
  for (const auto& [attr, of_function] : function.attrs) entries.emplace_back(attr, &of_function);
  entries.emplace_back("_lower_as_multi_device_function", &kTrue);
  const uint32_t op = graph.intern(function.name);
  const NodeId call = add(name, {op, site.device, add_attrs(graph, std::move(entries)), site.origin}, inputs, controls);
  facts_[call].call = &function;
  facts_[call].call_outputs = static_cast<uint32_t>(num_outputs);
  facts_[call].kept = false;
  facts_[call].single_device = !flag_set(*site.type, kLowerFlag);
  return call;
}

void GrowingGraph::set_input(NodeId node, uint32_t input, Endpoint source) {
  graph.edges_[graph.node(node).first_input + input] = source;
}

std::string_view GrowingGraph::new_name(std::string_view prefix, std::string_view infix) {
  char digits[20];
  const char* end = std::to_chars(std::begin(digits), std::end(digits), num_names_++).ptr;
  name_.assign(prefix).append("/").append(infix).append("/_").append(std::string_view(digits, end));
  return graph.keep(name_);
}

uint32_t GrowingGraph::colocation_with(NodeId node) {
  uint32_t& known = facts_[node].colocation;  // equal lists of attrs are typed once
  if (known == 0) {
    std::vector<std::string> groups{cat(kColocationPrefix, graph.name(node))};
    known = add_attrs(graph, {{"_class", add_value(graph, AttrValue::list_of(AttrKind::kString, std::move(groups)))}});
  }
  return known;
}

uint32_t GrowingGraph::colocation_of(NodeId node) {
  for (const Attrs::Entry& entry : graph.attr_sets_[graph.node(node).attr_set]) {
    if (entry.first == "_class") return add_attrs(graph, {entry});
  }
  return 0;
}

FunctionalSite GrowingGraph::open_site(NodeId node) {
  const NodeFacts& facts = facts_[node];
  const bool kept = options_.keep_all || facts.kept;
  FunctionalSite site{node, graph.name(node), device_of(node), facts.type, facts.origin, facts.origin, {}, {}, kept};
  site.inputs.reserve(graph.node(node).num_inputs);
  for (const Endpoint& e : graph.inputs(node)) site.inputs.push_back(signposts_.follow(e));
  for (const Endpoint& e : graph.controls(node)) add_once(site.controls, signposts_.follow_control(e.node));
  if (options_.wait_for_sources) wait_for_sources(site);
  return site;
}

// What such a node is replaced by may run before all that it read is there: TensorFlow's function optimizer sees to
// that. In a loop it always does, whoever else is waited for: what is constant there is ready once, for all rounds.
void GrowingGraph::wait_for_sources(FunctionalSite& site) {
  const bool constant = std::any_of(site.inputs.begin(), site.inputs.end(),
                                    [&](const Endpoint& e) { return facts_[e.node].constant_enter; });
  if (!constant && !(site.controls.empty() && reads_resource(site))) return;
  for (const Endpoint& e : site.inputs) {
    if (graph.node(e.node).op == ops.placeholder) continue;
    add_once(site.controls, e.node);
    facts_[e.node].waited_for = facts_[e.node].waited_for_alone = true;
  }
}

void GrowingGraph::keep_name(const FunctionalSite& site, std::span<const Endpoint> outputs, NodeId control,
                             bool outputs_wait) {
  const NodeId controls[] = {control};
  const bool fetchable = site.kept && !is_function_ && !outputs.empty();
  const std::span<const NodeId> waits(controls, outputs_wait ? 1 : 0);
  const NodeId node = fetchable ? add(site.name, {ops.identity_n, site.device, 0, site.origin}, outputs, waits)
                                : add(site.name, {ops.no_op, site.device, 0, site.origin}, {}, controls);
  facts_[node].origin = site.caller;
}

Status GrowingGraph::failure(const FunctionalSite& site, Code code, std::string_view what) {
  failed_at_ = graph.node(site.node).position;
  std::string where = origins.chain_text(site.caller);
  return {code, cat("node '", site.name, "'", where.empty() ? "" : cat(", ", where), ": ", what)};
}

// Where the edges stand they stay: what is replaced, and a control that is there twice, leaves places that lead
// nowhere.
void GrowingGraph::settle_edges(NodeId id, const std::vector<NodeId>& new_id) {
  Node& node = graph.nodes_[id];
  const std::span<Endpoint> edges(graph.edges_.data() + node.first_input, size_t{node.num_inputs} + node.num_controls);
  if (new_id[id] == kNoNode) {
    std::fill(edges.begin(), edges.end(), Endpoint());
    return;
  }
  for (Endpoint& e : edges.first(node.num_inputs)) {
    e = signposts_.follow(e);
    e.node = new_id[e.node];
  }
  const std::span<Endpoint> controls = edges.subspan(node.num_inputs);
  uint32_t num_controls = 0;
  for (const Endpoint& e : controls) {
    const Endpoint source{new_id[signposts_.follow_control(e.node)], 0};
    const auto settled = controls.first(num_controls);
    if (std::find(settled.begin(), settled.end(), source) == settled.end()) controls[num_controls++] = source;
  }
  std::fill(controls.begin() + num_controls, controls.end(), Endpoint());
  node.num_controls = num_controls;
}

void GrowingGraph::index_names() {
  graph.name_index_ = NameIndex();
  graph.name_index_.reserve(graph.nodes_.size());
  constexpr NodeId kAhead = 16;  // the table is larger than the caches
  std::array<uint32_t, kAhead> tags = {};
  const NodeId count = graph.num_nodes();
  for (NodeId i = 0; i < count + kAhead; ++i) {
    uint32_t& tag = tags[i % kAhead];
    if (i >= kAhead) {
      const NodeId id = i - kAhead;
      graph.name_index_.insert(graph.name(id), tag, id, [this](uint32_t other) { return graph.name(other); });
    }
    if (i < count) graph.name_index_.prefetch(tag = NameIndex::hash(graph.name(i)));
  }
}

std::vector<uint32_t> GrowingGraph::finish() {
  std::vector<NodeId> new_id(graph.num_nodes(), kNoNode);
  NodeId next = 0;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!is_replaced(id)) new_id[id] = next++;
  }
  std::vector<uint32_t> origins_left;
  origins_left.reserve(next);
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    settle_edges(id, new_id);
    if (new_id[id] == kNoNode) continue;
    graph.nodes_[new_id[id]] = graph.nodes_[id];
    origins_left.push_back(facts_[id].origin);
  }
  graph.nodes_.resize(next);
  index_names();
  return origins_left;
}

}  // namespace emplace
