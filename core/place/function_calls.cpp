#include "core/place/function_calls.h"

#include <algorithm>
#include <map>

#include "core/base/cat.h"
#include "core/place/group_builder.h"

namespace emplace {
namespace {

const Function* called_function(const PlacerState& state, NodeId call) {
  const AttrValue* f = state.graph.attrs(call).find("f");
  const auto* name = f ? f->get_if<FuncValue>() : nullptr;
  if (!name) return nullptr;
  auto found = state.file.library.find(name->name);
  return found == state.file.library.end() || !found->second.body ? nullptr : &found->second;
}

bool all_typed(const Graph& body) {
  for (NodeId id = 0; id < body.num_nodes(); ++id) {
    if (body.node(id).type >= body.types().size()) return false;
  }
  return true;
}

/// The groups at the ends of a body, numbered as they are met.
class EndGroups {
 public:
  explicit EndGroups(PlacerState& state) : state_(state) {}

  BodyGroups find() {
    add_ends("_Arg", found_.of_argument);
    add_ends("_Retval", found_.of_result);
    return std::move(found_);
  }

 private:
  void add_ends(std::string_view op, std::vector<size_t>& groups) {
    std::map<int64_t, NodeId> ends;
    for (NodeId id = 0; id < state_.graph.num_nodes(); ++id) {
      const AttrValue* index = state_.graph.op(id) == op ? state_.graph.attrs(id).find("index") : nullptr;
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
    for (const SupportedType& s : state_.lists.at(root.types)) demand.types.emplace_back(state_.lists.types()[s.type], s.priority);
    return demand;
  }

  PlacerState& state_;
  BodyGroups found_;
  std::map<NodeId, size_t> numbers_;  // by root
};

}  // namespace

bool is_inspected_call(const NodeType& type) {
  if (type.op != "PartitionedCall" && type.op != "StatefulPartitionedCall") return false;
  return std::find(type.output_types.begin(), type.output_types.end(), DType::kResource) != type.output_types.end();
}

CallStack CallStack::inside(std::string_view caller, std::string_view function) const {
  CallStack inner = *this;
  inner.frames_.push_back({current_, std::string(caller)});
  inner.current_ = function;
  return inner;
}

bool CallStack::has(std::string_view function) const {
  return current_ == function || std::any_of(frames_.begin(), frames_.end(), [&](const Frame& f) { return f.function == function; });
}

Status CallStack::recursion(std::string_view caller, std::string_view function) const {
  std::string text = cat("Recursive function calls are not supported. Node {{node ", caller, "}} inside the body of {{function_node ",
                         current_, "}} calls function {{function_node ", function, "}} which is already present in the call stack:");
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    const std::string& called = i + 1 < frames_.size() ? frames_[i + 1].function : current_;
    append(text, "\n  ", frame.function.empty() ? "Graph" : cat("Function {{function_node ", frame.function, "}}"),
           " contains node {{node ", frame.caller, "}}");
    append(text, "\n  Node {{node ", frame.caller, "}} calls function {{function_node ", called, "}}");
  }
  return unimplemented(std::move(text));
}

Result<BodyGroups> find_body_groups(const PlacerState& outer, NodeId call, const CallStack& stack, std::vector<std::string>& lines) {
  const Function* function = called_function(outer, call);
  if (!function || !all_typed(*function->body)) return BodyGroups{};
  const std::string& name = function->signature.name;
  if (stack.has(name)) return stack.recursion(outer.graph.name(call), name);
  PlaceOptions options = outer.options;
  options.assigned.clear();
  options.overrides.clear();
  PlacerState state(outer.file, *function->body, outer.devices, options);
  Placement placement;
  placement.decisions.resize(function->body->num_nodes());
  PlaceFailures failures(state, placement, lines);
  GroupBuilder(state, placement.decisions, failures, placement.notes, stack.inside(outer.graph.name(call), name)).build();
  if (failures.any()) return failures.finish();
  return EndGroups(state).find();
}

}  // namespace emplace
