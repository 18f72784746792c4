#include "core/formats/open_references.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/base/suggest.h"
#include "core/formats/arguments.h"
#include "core/formats/load_context.h"
#include "core/graph/node_order.h"

namespace emplace {
namespace {

constexpr int kSuggestFor = 20;  // unknown names; each suggestion compares with every name
constexpr std::string_view kColocate = "loc:@";

// The scope around `scope`: "a/b" -> "a" -> "".
std::string_view outer(std::string_view scope) {
  size_t slash = scope.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : scope.substr(0, slash);
}

class ReferenceResolver {
 public:
  ReferenceResolver(LoadContext& c, Graph& graph, OpenReferences& open) : c_(c), graph_(graph), open_(open) {}

  std::vector<NodeId> run() {
    resolve_input_texts();
    resolve_classes();
    resolve_edges();
    if (!c_.problems.empty()) return {};
    resolve_outputs();
    read_variables();
    merge_duplicate_controls();
    return c_.problems.empty() ? put_in_order() : std::vector<NodeId>();
  }

 private:
  uint32_t find_scoped(std::string_view name, std::string_view scope) const;
  int64_t position_of(std::string_view text, NodeId user) const;
  void unknown_name(std::string_view name, int64_t position, std::string_view used_by);

  void resolve_input_texts();
  void resolve_classes();
  void resolve_edges();
  void resolve_outputs();
  void read_variables();
  bool wants_handle(NodeId consumer, uint32_t input);
  void merge_duplicate_controls();
  std::vector<NodeId> put_in_order();

  LoadContext& c_;
  Graph& graph_;
  OpenReferences& open_;
  int unknown_names_ = 0;
};

// The number of the nearest node of that name, searched from `scope` outwards; kNone if there is none.
uint32_t ReferenceResolver::find_scoped(std::string_view name, std::string_view scope) const {
  std::string full;
  for (;; scope = outer(scope)) {
    full = scope.empty() ? std::string(name) : cat(scope, "/", name);
    uint32_t id = open_.names.find(full);
    if (id != NameIndex::kNone && open_.names[id].node != kNoNode) return id;
    if (scope.empty()) return NameIndex::kNone;
  }
}

// Where a name that somebody used stands; the user's own place if the name was written with escapes.
int64_t ReferenceResolver::position_of(std::string_view text, NodeId user) const {
  std::string_view all = c_.source.text();
  if (text.data() >= all.data() && text.data() < all.data() + all.size()) return text.data() - all.data();
  return graph_.nodes_[user].position;
}

void ReferenceResolver::unknown_name(std::string_view name, int64_t position, std::string_view used_by) {
  std::string hint;
  if (++unknown_names_ <= kSuggestFor) {
    Suggestion suggestion(name);
    for (const Node& n : graph_.nodes_) suggestion.offer(n.name);
    hint = suggestion.text();
  }
  c_.problems.add(position, cat("no node is named '", name, "', which '", used_by, "' reads"), std::move(hint));
}

void ReferenceResolver::resolve_input_texts() {
  for (OpenReferences::InputText& input : open_.input_texts) {
    if (input.scope.empty()) continue;
    uint32_t id = find_scoped(input.name, input.scope);
    graph_.edges_[input.edge].node = id == NameIndex::kNone ? open_.names.number(input.name) : id;
  }
}

// `_class` of nodes in scopes: "loc:@x" becomes "loc:@scope/x" where that is a node.
void ReferenceResolver::resolve_classes() {
  for (const OpenReferences::ScopedClass& scoped : open_.scoped_classes) {
    Node& node = graph_.nodes_[scoped.node];
    std::vector<Attrs::Entry> attrs = graph_.attr_sets_[node.attr_set];
    auto entry = std::find_if(attrs.begin(), attrs.end(), [](const Attrs::Entry& e) { return e.first == "_class"; });
    const auto* groups = entry == attrs.end() ? nullptr : entry->second->get_if<std::vector<std::string>>();
    if (!groups) continue;
    std::vector<std::string> full;
    for (const std::string& group : *groups) {
      std::string_view name = group;
      uint32_t id = NameIndex::kNone;
      if (name.starts_with(kColocate)) id = find_scoped(name.substr(kColocate.size()), scoped.scope);
      full.push_back(id == NameIndex::kNone ? group : cat(kColocate, open_.names[id].view()));
    }
    if (full == *groups) continue;
    entry->second = &graph_.attr_values_.emplace_back(AttrValue::list_of(AttrKind::kString, std::move(full)));
    node.attr_set = static_cast<uint32_t>(graph_.attr_sets_.size());
    graph_.attr_sets_.push_back(std::move(attrs));
  }
}

// Edges from names to nodes. A name that is not a node is told once, where it is first used.
void ReferenceResolver::resolve_edges() {
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    const Node& node = graph_.nodes_[id];
    for (uint32_t i = 0; i < node.num_inputs + node.num_controls; ++i) {
      Endpoint& e = graph_.edges_[node.first_input + i];
      if (e.node == kNoNode) continue;  // an input whose problem is told
      uint32_t number = e.node;
      NumberedNames::Name& name = open_.names[number];
      e.node = name.node;
      if (name.node != kNoNode || name.size == 0) continue;
      unknown_name(name.view(), position_of(name.view(), id), node.name);
      name.size = 0;
    }
  }
  if (!c_.problems.empty()) return;
  // From here on names are found in the graph itself.
  graph_.name_index_ = open_.names.by_node();
}

// "n:output:1" in function bodies: where the output argument begins, plus 1.
void ReferenceResolver::resolve_outputs() {
  for (const OpenReferences::InputText& input : open_.input_texts) {
    if (input.output.empty()) continue;
    Endpoint& e = graph_.edges_[input.edge];
    auto slot = c_.output_slot(graph_, e.node, input.output, e.slot);
    if (slot) {
      e.slot = *slot;
    } else {
      c_.problems.add(position_of(input.name, e.node),
                      cat("op '", graph_.op(e.node), "' has no output '", input.output, "'"));
    }
  }
}

bool ReferenceResolver::wants_handle(NodeId consumer, uint32_t input) {
  const OpSignature* op = c_.signature(graph_.op(consumer));
  if (!op) return false;
  Attrs written(graph_.written_attrs(consumer));
  auto num_inputs = static_cast<int>(graph_.node(consumer).num_inputs);
  int argument = argument_of_input(*op, written, num_inputs, static_cast<int>(input)).argument;
  if (argument < 0) return false;
  const ArgSignature& arg = op->inputs[static_cast<size_t>(argument)];
  if (arg.is_ref || arg.type == DType::kResource) return true;
  if (arg.type_attr < 0) return false;
  const AttrValue* type = written.find(op->attrs[static_cast<size_t>(arg.type_attr)].name);
  const DType* stated = type ? type->get_if<DType>() : nullptr;
  return stated && *stated == DType::kResource;
}

void ReferenceResolver::read_variables() {
  if (open_.variables.empty()) return;
  std::vector<const OpenReferences::Variable*> variable_of(graph_.num_nodes(), nullptr);
  for (const OpenReferences::Variable& v : open_.variables) variable_of[v.variable] = &v;
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    const Node& node = graph_.nodes_[id];
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      Endpoint& e = graph_.edges_[node.first_input + i];
      const OpenReferences::Variable* v = variable_of[e.node];
      if (!v || e.slot != 0 || (id >= v->first_own && id < v->end_own)) continue;
      if (!wants_handle(id, i)) e.node = v->read;
    }
  }
}

void ReferenceResolver::merge_duplicate_controls() {
  std::vector<NodeId> seen_by(graph_.num_nodes(), kNoNode);  // the last node that waits for this one
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    Node& node = graph_.nodes_[id];
    if (node.num_controls < 2) continue;
    auto first = graph_.edges_.begin() + node.first_input + node.num_inputs;
    auto end = std::remove_if(first, first + node.num_controls,
                              [&](const Endpoint& e) { return std::exchange(seen_by[e.node], id) == id; });
    node.num_controls = static_cast<uint32_t>(end - first);
  }
}

std::vector<NodeId> ReferenceResolver::put_in_order() {
  std::vector<std::pair<NodeId, NodeId>> also;
  for (const OpenReferences::Order& order : open_.orders) {
    NodeId before = kNoNode;
    std::string full;
    for (std::string_view scope = order.scope;; scope = outer(scope)) {
      full = scope.empty() ? std::string(order.before) : cat(scope, "/", order.before);
      before = graph_.find(full);
      if (before != kNoNode || scope.empty()) break;
    }
    if (before != kNoNode) also.push_back({before, order.after});
  }
  NodeOrder order = tensorflow_order(graph_, also);
  for (const std::vector<NodeId>& cycle : order.cycles) {
    std::string path;
    for (size_t i = 0; i < cycle.size(); ++i) {
      if (i >= 8 && i + 2 < cycle.size()) {
        if (i == 8) append(path, "... (", cycle.size() - 9, " more) -> ");
        continue;
      }
      append(path, graph_.name(cycle[i]), " -> ");
    }
    c_.problems.add(graph_.node(cycle[0]).position,
                    cat("these nodes wait for each other: ", path, graph_.name(cycle[0])),
                    "only a loop may go back, by a NextIteration into a Merge");
  }
  if (order.new_id.empty() || !order.cycles.empty()) return {};
  renumber(graph_, order.new_id);
  return std::move(order.new_id);
}

}  // namespace

uint32_t NumberedNames::number(std::string_view name, uint32_t tag) {
  auto next = static_cast<uint32_t>(names_.size());
  uint32_t id = index_.insert(name, tag, next, [this](uint32_t n) { return names_[n].view(); });
  if (id == next) names_.push_back({name.data(), static_cast<uint32_t>(name.size()), kNoNode});
  return id;
}

NameIndex NumberedNames::by_node() {
  std::vector<NodeId> nodes(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) nodes[i] = names_[i].node;
  index_.renumber(nodes);
  names_ = {};
  return std::move(index_);
}

std::vector<NodeId> resolve_references(LoadContext& c, Graph& graph, OpenReferences& references) {
  return ReferenceResolver(c, graph, references).run();
}

}  // namespace emplace
