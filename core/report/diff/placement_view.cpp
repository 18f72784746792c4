#include "core/report/diff/placement_view.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/sha256.h"
#include "core/base/stop.h"
#include "core/op/attr_text.h"

namespace emplace {
namespace {

/// Gigabytes take seconds: not whole once the command was asked to stop, which is what it ends with then.
std::string hash_of(std::string_view bytes) {
  constexpr size_t kPiece = size_t{16} << 20;
  Sha256 hash;
  for (size_t at = 0; at < bytes.size() && !stop_requested(); at += kPiece) hash.update(bytes.substr(at, kPiece));
  return hash.finish();
}

/// The text shows the first elements of a tensor only; the bytes tell the rest.
std::string attr_identity(const AttrValue& value) {
  std::string text = summarize_attr(value);
  const Tensor* tensor = value.get_if<Tensor>();
  if (tensor && tensor->dtype() != DType::kString && tensor->size_bytes() > 0)
    append(text, ' ', hash_of({static_cast<const char*>(tensor->raw()), tensor->size_bytes()}));
  return text;
}

std::string node_contents(const Graph& graph, NodeId node) {
  std::string text;
  for (const auto& [name, value] : graph.attrs(node).entries()) append(text, name, '=', attr_identity(*value), '\n');
  for (uint32_t slot = 0; slot < graph.num_outputs(node); ++slot)
    append(text, "-> ", dtype_name(graph.output_type({node, slot})), ' ', graph.output_shape({node, slot}).to_string(),
           '\n');
  return text;
}

NodeView view_node(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
                   const Placement& placement, NodeId node) {
  const Decision& decision = placement.of(node);
  NodeView view;
  view.name = graph.name(node);
  view.op = graph.op(node);
  view.device = devices.at(decision.device).name;
  view.requested = requested_device(graph, options, node);
  view.reason = reason_code(decision.reason);
  if (decision.because != kNoNode && decision.because != node) view.because = graph.name(decision.because);
  for (const Endpoint& e : graph.inputs(node))
    view.inputs.push_back(e.slot == 0 ? std::string(graph.name(e.node)) : cat(graph.name(e.node), ':', e.slot));
  std::vector<std::string> controls;
  for (const Endpoint& e : graph.controls(node)) controls.push_back(cat('^', graph.name(e.node)));
  std::sort(controls.begin(), controls.end());
  view.inputs.insert(view.inputs.end(), controls.begin(), controls.end());
  view.contents = node_contents(graph, node);
  view.group = decision.group + 1;
  return view;
}

}  // namespace

PlacementView view_placement(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                             const Placement& placement, const CopyPlan& copies) {
  const Graph& graph = file.graph;
  PlacementView view;
  for (DeviceId d = 0; d < devices.size(); ++d) view.devices.push_back(devices.at(d).name);
  for (const NodeId node : placement.order) view.nodes.push_back(view_node(graph, devices, options, placement, node));
  view.copies.emplace();
  for (const Copy& c : copies.copies) {
    if (c.inside || c.control) continue;
    view.copies->push_back(
        {cat(graph.name(c.tensor.node), ':', c.tensor.slot), devices.at(c.from).name, devices.at(c.to).name, c.bytes});
  }
  return view;
}

}  // namespace emplace
