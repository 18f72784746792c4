// Part of core/graph/lower/control_flow.h: While: a frame of Enter, Merge, Switch, Exit and NextIteration around calls
// of its condition and body (lower_while_op.cc). Resources are constants of the frame.
#include "core/base/cat.h"
#include "core/graph/lower/attr_reading.h"
#include "core/graph/lower/control_flow.h"

namespace emplace {
namespace {

// Of the Enters of loop variables, and of constants of the loop.
std::pair<uint32_t, uint32_t> enter_attrs(GrowingGraph& grown, const FunctionalSite& site) {
  std::vector<Attrs::Entry> frame{{"frame_name", add_value(grown.graph, AttrValue::of(std::string(site.name)))}};
  if (const AttrValue* parallel = site.type->view().find("parallel_iterations"))
    frame.emplace_back("parallel_iterations", parallel);
  const uint32_t varying = add_attrs(grown.graph, frame);
  frame.emplace_back("is_constant", add_value(grown.graph, AttrValue::of(true)));
  return {varying, add_attrs(grown.graph, std::move(frame))};
}

void add_back_edges(GrowingGraph& grown, const FunctionalSite& site, NodeId body_call, std::span<const NodeId> merges) {
  const uint32_t next_iteration = grown.graph.intern("NextIteration");
  for (size_t i = 0, next = 0; i < site.inputs.size(); ++i) {
    if (site.type->input_types[i] == DType::kResource) continue;
    const NodeId merge = merges[next++];
    const Endpoint again{body_call, static_cast<uint32_t>(i)};
    const NodeId back =
        grown.add(grown.new_name(site.name, "next_iteration"),
                  MadeNode{next_iteration, grown.device_of(merge), 0, site.origin}, {&again, 1}, {&body_call, 1});
    grown.set_input(merge, 1, {back, 0});
  }
}

// What the loop leaves stands for its outputs; `switches`: of the loop variables.
void add_exits(GrowingGraph& grown, const FunctionalSite& site, std::span<const NodeId> switches) {
  const uint32_t exit = grown.graph.intern("Exit");
  std::vector<NodeId> exits;
  std::vector<Endpoint> outputs;
  for (size_t i = 0, next = 0; i < site.inputs.size(); ++i) {
    outputs.push_back(site.inputs[i]);
    if (site.type->input_types[i] == DType::kResource) continue;
    const Endpoint leaving{switches[next++], 0};
    const MadeNode what{exit, grown.device_of(leaving.node), 0, site.origin};
    exits.push_back(grown.add(grown.new_name(site.name, "exit"), what, {&leaving, 1}));
    outputs.back() = {exits.back(), 0};
  }
  const MadeNode no_op{grown.ops.no_op, site.device, 0, site.origin};
  const NodeId executed = grown.add(grown.new_name(site.name, "LoopExecuted"), no_op, {}, exits);
  grown.replace(site, outputs, executed);
  grown.keep_name(site, outputs, executed, false);
}

}  // namespace

Status lower_while(GrowingGraph& grown, const FunctionalSite& site) {
  const FuncValue* cond = function_attr(*site.type, "cond");
  const FuncValue* body = function_attr(*site.type, "body");
  if (!cond || !body) return grown.failure(site, Code::kInvalidArgument, "says no function for its condition or body");
  const std::string_view cond_name = grown.new_name(site.name, "cond"), body_name = grown.new_name(site.name, "body");
  const size_t n = site.inputs.size();
  const auto is_resource = [&](size_t i) { return site.type->input_types[i] == DType::kResource; };
  const auto made = [&](uint32_t op, uint32_t device) { return MadeNode{op, device, 0, site.origin}; };

  const auto [varying, constant] = enter_attrs(grown, site);
  std::vector<NodeId> enters, merges, switches, waits;
  if (!site.controls.empty()) waits.push_back(grown.next_id() + static_cast<NodeId>(n));
  for (size_t i = 0; i < n; ++i) {
    const Endpoint source = site.inputs[i];
    MadeNode enter = made(grown.ops.enter, grown.device_of(source.node));
    enter.attr_set = is_resource(i) ? constant : varying;
    enters.push_back(grown.add(grown.new_name(site.name, "enter"), enter, {&source, 1}, waits));
    grown.facts(enters.back()).constant_enter = is_resource(i);
  }
  if (!waits.empty())
    grown.add(grown.new_name(site.name, "LoopControlInputs"), made(grown.ops.no_op, site.device), {}, site.controls);

  std::vector<Endpoint> loop_values;  // what condition and body see
  for (size_t i = 0; i < n; ++i) {
    const Endpoint enter{enters[i], 0}, inputs[] = {enter, enter};  // the second one: the back edge, set below
    loop_values.push_back(enter);
    if (is_resource(i)) continue;
    merges.push_back(
        grown.add(grown.new_name(site.name, "merge"), made(grown.ops.merge, grown.device_of(enters[i])), inputs));
    loop_values.back().node = merges.back();
  }
  if (merges.empty()) return grown.failure(site, Code::kInvalidArgument, "a loop needs a loop variable");
  const Endpoint decided{grown.add_call(cond_name, site, *cond, 1, loop_values, {merges.data(), 1}), 0};
  const Endpoint going_on{grown.add(grown.new_name(site.name, "LoopCond"),
                                    made(grown.graph.intern("LoopCond"), site.device), {&decided, 1}),
                          0};

  for (size_t i = 0; i < n; ++i) {
    if (is_resource(i)) continue;
    const Endpoint inputs[] = {loop_values[i], going_on};
    const std::string infix = cat(grown.graph.name(site.inputs[i].node), "_switch");
    switches.push_back(
        grown.add(grown.new_name(site.name, infix), made(grown.ops.switch_, grown.device_of(inputs[0].node)), inputs));
    loop_values[i] = {switches.back(), 1};
  }
  const NodeId start = grown.next_id() + 1;
  const NodeId body_call = grown.add_call(body_name, site, *body, n, loop_values, {&start, 1});
  const Endpoint first{switches.front(), 1};
  grown.add(grown.new_name(site.name, "loop_body_control"), made(grown.ops.identity, site.device), {&first, 1});

  add_exits(grown, site, switches);
  add_back_edges(grown, site, body_call, merges);
  return ok_status();
}

}  // namespace emplace
