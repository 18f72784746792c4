// Part of core/graph/lower/lowering.h: While: a frame of Enter, Merge, Switch, Exit and NextIteration around calls of
// its condition and body (lower_while_op.cc). Resources are constants of the frame.
#include "core/base/cat.h"
#include "core/graph/lower/lowering.h"

namespace emplace {

// Of the Enters of loop variables, and of constants of the loop.
std::pair<uint32_t, uint32_t> Lowering::enter_attrs(const Site& site) {
  std::vector<Attrs::Entry> frame{{"frame_name", value(AttrValue::of(std::string(site.name)))}};
  if (const AttrValue* parallel = site.type->view().find("parallel_iterations"))
    frame.emplace_back("parallel_iterations", parallel);
  const uint32_t varying = attrs(frame);
  frame.emplace_back("is_constant", value(AttrValue::of(true)));
  return {varying, attrs(std::move(frame))};
}

Status Lowering::lower_while(Site& site) {
  const FuncValue* cond = function_attr(*site.type, "cond");
  const FuncValue* body = function_attr(*site.type, "body");
  if (!cond || !body) return failure(site, Code::kInvalidArgument, "says no function for its condition or body");
  const std::string_view cond_name = new_name(site.name, "cond"), body_name = new_name(site.name, "body");
  const size_t n = site.inputs.size();
  const auto is_resource = [&](size_t i) { return site.type->input_types[i] == DType::kResource; };
  const auto made = [&](uint32_t op, uint32_t device) { return NewOp{op, device, 0, site.origin}; };

  const auto [varying, constant] = enter_attrs(site);
  std::vector<NodeId> enters, merges, switches, waits;
  if (!site.controls.empty()) waits.push_back(next_id() + static_cast<NodeId>(n));
  for (size_t i = 0; i < n; ++i) {
    const Endpoint source = site.inputs[i];
    NewOp enter = made(enter_, device_of(source.node));
    enter.attr_set = is_resource(i) ? constant : varying;
    enters.push_back(add(new_name(site.name, "enter"), enter, {&source, 1}, waits));
    facts_[enters.back()].constant_enter = is_resource(i);
  }
  if (!waits.empty()) add(new_name(site.name, "LoopControlInputs"), made(no_op_, site.device), {}, site.controls);

  std::vector<Endpoint> loop_values, outputs;  // what condition and body see; what the loop leaves
  for (size_t i = 0; i < n; ++i) {
    const Endpoint enter{enters[i], 0}, inputs[] = {enter, enter};  // the second one: the back edge, set below
    loop_values.push_back(enter);
    if (is_resource(i)) continue;
    merges.push_back(add(new_name(site.name, "merge"), made(merge_, device_of(enters[i])), inputs));
    loop_values.back().node = merges.back();
  }
  if (merges.empty()) return failure(site, Code::kInvalidArgument, "a loop needs a loop variable");
  const Endpoint decided{add_call(cond_name, site, *cond, 1, loop_values, {merges.data(), 1}), 0};
  const Endpoint going_on{add(new_name(site.name, "LoopCond"), made(op_id("LoopCond"), site.device), {&decided, 1}), 0};

  for (size_t i = 0; i < n; ++i) {
    if (is_resource(i)) continue;
    const Endpoint inputs[] = {loop_values[i], going_on};
    const std::string infix = cat(graph_.name(site.inputs[i].node), "_switch");
    switches.push_back(add(new_name(site.name, infix), made(switch_, device_of(inputs[0].node)), inputs));
    loop_values[i] = {switches.back(), 1};
  }
  const NodeId start = next_id() + 1;
  const NodeId body_call = add_call(body_name, site, *body, n, loop_values, {&start, 1});
  const Endpoint first{switches.front(), 1};
  add(new_name(site.name, "loop_body_control"), made(identity_, site.device), {&first, 1});

  std::vector<NodeId> exits;
  for (size_t i = 0, next = 0; i < n; ++i) {
    outputs.push_back(site.inputs[i]);
    if (is_resource(i)) continue;
    const Endpoint leaving{switches[next++], 0};
    exits.push_back(add(new_name(site.name, "exit"), made(op_id("Exit"), device_of(leaving.node)), {&leaving, 1}));
    outputs.back() = {exits.back(), 0};
  }
  const NodeId executed = add(new_name(site.name, "LoopExecuted"), made(no_op_, site.device), {}, exits);
  replace(site, outputs, executed);
  keep_name(site, outputs, executed, false);

  add_back_edges(site, body_call, merges);
  return ok_status();
}

void Lowering::add_back_edges(const Site& site, NodeId body_call, std::span<const NodeId> merges) {
  const uint32_t next_iteration = op_id("NextIteration");
  for (size_t i = 0, next = 0; i < site.inputs.size(); ++i) {
    if (site.type->input_types[i] == DType::kResource) continue;
    const NodeId merge = merges[next++];
    const Endpoint again{body_call, static_cast<uint32_t>(i)};
    const NodeId back = add(new_name(site.name, "next_iteration"),
                            NewOp{next_iteration, device_of(merge), 0, site.origin}, {&again, 1}, {&body_call, 1});
    set_input(merge, 1, {back, 0});
  }
}

}  // namespace emplace
