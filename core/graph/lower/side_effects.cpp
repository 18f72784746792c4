// Part of core/graph/lower/bodies.h: what of a function's body has side effects, and whether inlining could lose it
// (function_optimizer.cc: ValidateSideEffectsExecution, ValidateNoDeadOutputs).
#include <algorithm>

#include "core/graph/lower/bodies.h"

namespace emplace {
namespace {

// TensorFlow takes every op that is stateful by its signature for one, but those that read a variable or a checkpoint,
// draw random numbers or wait for each other.
bool has_side_effect(const GraphFile& file, const NodeType& type) {
  if (!type.traits) return false;
  const OpTraits& op = *type.traits;
  if (op.argument || op.result || op.reads_variable || op.random || op.restores || op.collective) return false;
  if (type.signature) return type.signature->is_stateful;
  const auto function = file.library.find(std::string(type.op));
  return function != file.library.end() && function->second.signature.is_stateful;
}

/// What has to run for `roots`. `controls`: along control edges as well. Nothing behind nodes of which `stops` holds.
template <class Stops>
std::vector<bool> needed_for(const Graph& body, std::span<const NodeId> roots, bool controls, const Stops& stops) {
  std::vector<bool> needed(body.num_nodes());
  std::vector<NodeId> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (needed[node]) continue;
    needed[node] = true;
    if (stops(node)) continue;
    for (const Endpoint& e : body.inputs(node)) open.push_back(e.node);
    if (!controls) continue;
    for (const Endpoint& e : body.controls(node)) open.push_back(e.node);
  }
  return needed;
}

}  // namespace

SideEffects SideEffects::of(const GraphFile& file, const Graph& body, std::span<const NodeId> results,
                            std::span<const NodeId> control_results) {
  SideEffects effects;
  for (NodeId id = 0; id < body.num_nodes(); ++id) {
    if (has_side_effect(file, body.type(id))) effects.nodes.push_back(id);
  }
  const auto all_in = [&](const std::vector<bool>& needed) {
    return std::all_of(effects.nodes.begin(), effects.nodes.end(), [&](NodeId node) { return needed[node]; });
  };
  if (!effects.nodes.empty()) {
    const auto never = [](NodeId) { return false; };
    effects.behind_controls = all_in(needed_for(body, control_results, true, never));
    effects.behind_results = all_in(needed_for(body, results, true, never));
  }
  const auto joins = [&](NodeId node) {
    const Control control = body.traits(node).control;
    return control == Control::kMerge || control == Control::kExit;
  };
  const std::vector<bool> values = needed_for(body, results, false, joins);
  for (NodeId id = 0; id < body.num_nodes(); ++id) {
    if (values[id] && body.traits(id).control == Control::kSwitch) effects.dead_results = true;
  }
  return effects;
}

}  // namespace emplace
