// Part of core/graph/lower/control_flow.h: If: a Switch for each input, a call for each branch, a Merge for each output
// (lower_if_op.cc).
#include "core/base/cat.h"
#include "core/graph/lower/attr_reading.h"
#include "core/graph/lower/control_flow.h"

namespace emplace {

Status lower_if(GrowingGraph& grown, const FunctionalSite& site) {
  const FuncValue* then_branch = function_attr(*site.type, "then_branch");
  const FuncValue* else_branch = function_attr(*site.type, "else_branch");
  if (!then_branch || !else_branch || site.inputs.empty())
    return grown.failure(site, Code::kInvalidArgument, "says no function for one of its branches");
  const std::string_view then_name = grown.new_name(site.name, "then"), else_name = grown.new_name(site.name, "else");
  const uint32_t own = grown.colocation_of(site.node);  // what decides and joins stays with what the If was to be with
  const MadeNode identity{grown.ops.identity, site.device, own, site.origin};
  const Endpoint pred = site.inputs[0];
  const Endpoint preds[] = {pred, pred};
  const NodeId decision = grown.add(grown.new_name(site.name, "switch_pred"),
                                    {grown.ops.switch_, site.device, own, site.origin}, preds, site.controls);
  const Endpoint no{decision, 0}, yes{decision, 1};
  const NodeId pivot_f = grown.add(grown.new_name(site.name, "pivot_f"), identity, {&no, 1});
  const NodeId pivot_t = grown.add(grown.new_name(site.name, "pivot_t"), identity, {&yes, 1});
  std::vector<NodeId> switches;
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    const Endpoint source = site.inputs[i], inputs[] = {source, pred};
    const std::string_view name = grown.graph.name(source.node);
    switches.push_back(grown.add(
        grown.new_name(site.name, name),
        {grown.ops.switch_, grown.device_of(source.node), grown.colocation_with(source.node), site.origin}, inputs));
  }
  const Branch branches[] = {{then_branch, then_name, pivot_t}, {else_branch, else_name, pivot_f}};
  join_branches(grown, site, branches, switches, {true, "output", own});
  return ok_status();
}

void join_branches(GrowingGraph& grown, const FunctionalSite& site, std::span<const Branch> branches,
                   std::span<const NodeId> switches, const JoinForm& form) {
  std::vector<NodeId> calls;
  std::vector<Endpoint> inputs;
  for (uint32_t b = 0; b < branches.size(); ++b) {
    const uint32_t slot = form.two_way ? 1 - b : b;  // of a Switch, true is output 1, and `then` is first
    inputs.clear();
    for (NodeId s : switches) inputs.push_back({s, slot});
    calls.push_back(grown.add_call(branches[b].call_name, site, *branches[b].function, site.type->output_types.size(),
                                   inputs, {&branches[b].pivot, 1}));
  }
  const MadeNode merge{grown.ops.merge, site.device, form.merge_attrs, site.origin};
  std::vector<Endpoint> outputs;
  for (uint32_t i = 0; i < site.type->output_types.size(); ++i) {
    inputs.clear();
    for (NodeId call : calls) inputs.push_back({call, i});
    outputs.push_back({grown.add(grown.new_name(site.name, form.merge_name), merge, inputs), 0});
  }
  inputs.clear();
  for (const Branch& branch : branches) inputs.push_back({branch.pivot, 0});
  const NodeId executed = grown.add(grown.new_name(site.name, "branch_executed"), merge, inputs, calls);
  grown.replace(site, outputs, executed);
  grown.keep_name(site, outputs, executed);
}

}  // namespace emplace
