#include "core/place/function_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/cat.h"
#include "core/graph/function_body.h"
#include "core/op/attr_text.h"
#include "core/place/group_builder.h"
#include "core/place/isolate_calls.h"

namespace emplace {
namespace {

constexpr size_t kMaxDepth = 200;  // calls in calls; more is no program that anybody wrote

// What a (Stateful)PartitionedCall calls; null if the node does not say.
const FuncValue* called(const Graph& graph, NodeId call) {
  const AttrValue* f = graph.attrs(call).find("f");
  return f ? f->get_if<FuncValue>() : nullptr;
}

const Function* find_function(const GraphFile& file, const std::string& name) {
  auto found = file.library.find(name);
  return found == file.library.end() || !found->second.body ? nullptr : &found->second;
}

/// The groups at the ends of a body, numbered as they are met.
class EndGroups {
 public:
  explicit EndGroups(PlacerState& state) : state_(state) {}

  BodyGroups find() {
    add_ends(&OpTraits::argument, found_.of_argument);
    add_ends(&OpTraits::result, found_.of_result);
    return std::move(found_);
  }

 private:
  void add_ends(bool OpTraits::*is_end, std::vector<size_t>& groups) {
    std::map<int64_t, NodeId> ends;
    for (NodeId id = 0; id < state_.graph.num_nodes(); ++id) {
      const AttrValue* index = state_.graph.traits(id).*is_end ? state_.graph.attrs(id).find("index") : nullptr;
      if (const int64_t* at = index ? index->get_if<int64_t>() : nullptr) ends[*at] = id;
    }
    for (const auto& [index, node] : ends) groups.push_back(group_of(node));
  }

  size_t group_of(NodeId node) {
    const NodeId root = state_.groups.root(node);
    auto [it, is_new] = numbers_.try_emplace(root, found_.demands.size());
    if (is_new) found_.demands.push_back(demand_of(state_.groups.at(root)));
    return it->second;
  }

  BodyGroups::Demand demand_of(const Member& root) const {
    BodyGroups::Demand demand{state_.names.at(root.requested), state_.names.at(root.resource), {}};
    for (const SupportedType& s : state_.lists.at(root.types))
      demand.types.emplace_back(state_.lists.types()[s.type], s.priority);
    return demand;
  }

  PlacerState& state_;
  BodyGroups found_;
  std::map<NodeId, size_t> numbers_;  // by root
};

}  // namespace

void check_called_functions(const PlacerState& state, PlaceFailures& failures) {
  const auto calls = [](const NodeType& type) { return type.traits->functional == Functional::kCall; };
  const auto& types = state.graph.types();
  if (std::none_of(types.begin(), types.end(), calls)) return;
  for (NodeId node = 0; node < state.graph.num_nodes(); ++node) {
    if (!calls(state.graph.type(node))) continue;
    const FuncValue* function = called(state.graph, node);
    if (function && find_function(state.file, function->name)) continue;
    failures.function_missing(node, function ? std::string_view(function->name) : "");
  }
}

namespace {

Result<BodyGroups> look_into(const PlacerState& outer, NodeId call, const FuncValue& function, const CallStack& stack,
                             std::vector<std::string>& lines) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Graph> body,
                   instantiate_body(outer.file, outer.file.library.at(function.name), function));
  isolate_calls(*outer.file.ops, *body);
  PlaceOptions options = outer.options;
  options.assigned.clear();
  options.overrides.clear();
  PlacerState state(outer.file, *body, outer.devices, options);
  Placement placement;
  placement.decisions.resize(body->num_nodes());
  PlaceFailures failures(state, placement, lines);
  check_called_functions(state, failures);
  if (failures.any()) return failures.finish();
  GroupBuilder(state, placement.decisions, failures, placement.notes, find_body_groups,
               stack.inside(outer.graph.name(call), function.name))
      .build();
  if (failures.any()) return failures.finish();
  BodyGroups groups = EndGroups(state).find();
  groups.notes = std::move(placement.notes);
  return groups;
}

}  // namespace

Result<BodyGroups> find_body_groups(const PlacerState& outer, NodeId call, const CallStack& stack,
                                    std::vector<std::string>& lines) {
  const FuncValue& function = *called(outer.graph, call);
  if (stack.has(function.name)) return stack.recursion(outer.graph.name(call), function.name);
  if (stack.depth() == kMaxDepth) {
    return invalid_argument(cat("functions that call each other, from '", function.name,
                                "' back, are nested more than ", kMaxDepth, " deep"));
  }
  const std::string key = summarize_attr(*outer.graph.attrs(call).find("f"));
  CallStack::Bodies& known = stack.bodies();
  if (auto failed = known.failures.find(key); failed != known.failures.end()) return failed->second;
  if (auto found = known.groups.find(key); found != known.groups.end()) return found->second;
  Result<BodyGroups> groups = look_into(outer, call, function, stack, lines);
  if (groups.ok()) {
    known.groups.emplace(key, *groups);
  } else {
    known.failures.emplace(key, groups.status());
  }
  return groups;
}

}  // namespace emplace
