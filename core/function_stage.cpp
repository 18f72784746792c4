#include "core/function_stage.h"

#include <algorithm>

#include "core/place/moved.h"

namespace emplace {
namespace {

NodeId same_node(const Graph& from, NodeId node, const Graph& to) {
  return node == kNoNode ? kNoNode : to.find(from.name(node));
}

}  // namespace

Lowered lower_file(std::shared_ptr<const GraphFile> file, const FunctionOptions& options, Problems& problems) {
  LowerOptions o;
  o.inline_calls = options.mode == FunctionMode::kInline;
  o.max_nodes = static_cast<uint64_t>(options.max_nodes);
  return lower(std::move(file), o, problems);
}

Lowered lower_step(const std::shared_ptr<const GraphFile>& placed, const Placement& placement,
                   std::span<const NodeId> order, const DeviceSet& devices, const StepRoots& roots,
                   const FunctionOptions& functions, bool to_run, Problems& problems) {
  CutOptions cut;
  if (!roots.whole) {
    cut.roots = roots.fetched;
    cut.roots.insert(cut.roots.end(), roots.run.begin(), roots.run.end());
    cut.feeds = roots.fed;
  }
  cut.order = order;
  for (const Decision& d : placement.decisions) cut.device_names.push_back(devices.at(d.device).name);
  const std::shared_ptr<GraphFile> part = cut_to_step(placed, cut);

  LowerOptions o;
  o.inline_calls = to_run || functions.mode != FunctionMode::kKeep;
  o.all = to_run;
  o.keep_all = roots.whole;
  o.wait_for_sources = true;
  o.keep_side_effects = true;
  o.max_nodes = static_cast<uint64_t>(functions.max_nodes);
  for (const auto* nodes : {&roots.fetched, &roots.run}) {
    for (NodeId node : *nodes) o.kept.push_back(same_node(placed->graph, node, part->graph));
  }
  for (const Endpoint& e : roots.fed) {
    const NodeId node = same_node(placed->graph, e.node, part->graph);
    if (node != kNoNode) o.left_alone.push_back(node);
  }
  return lower(part, o, problems);
}

PlaceOptions step_place_options(const PlaceOptions& options) {
  PlaceOptions o;
  o.allow_soft_placement = true;
  o.available_kernels_only = options.available_kernels_only;
  return o;
}

int64_t count_moved(const StepOrigin& origin, const Graph& step, const DeviceSet& devices) {
  const Graph& graph = origin.file->graph;
  const std::vector<NodeId>& order = origin.placement->order;
  return std::count_if(order.begin(), order.end(), [&](NodeId node) {
    return is_moved_softly(graph, devices, *origin.options, *origin.placement, node) &&
           step.find(graph.name(node)) != kNoNode;
  });
}

Result<RunRequest> resolve_before_gradients(const GraphFile& file, const RunOptions& options, Problems& problems) {
  RunOptions o = options;
  if (!options.fetch.empty() || file.has_fetch) {
    o.fetch.clear();
    for (const NamedRef& ref : fetch_names(file, options)) {
      if (auto gradient = parse_gradient_name(ref.name)) {
        o.fetch.emplace_back(gradient->loss);
        o.fetch.emplace_back(gradient->x);
      } else {
        o.fetch.push_back(ref.name);
      }
    }
  }
  return resolve_request(file, o, {}, problems);
}

StepRoots find_roots(const RunRequest& request, const Graph& from, const Graph& to, bool with_init) {
  StepRoots roots;
  const auto add = [&](std::vector<NodeId>& list, NodeId node) {
    if (const NodeId found = same_node(from, node, to); found != kNoNode) list.push_back(found);
  };
  for (const Fetch& fetch : request.fetches) add(roots.fetched, fetch.tensor.node);
  for (NodeId node : request.targets) add(roots.run, node);
  if (with_init) {
    for (NodeId node : request.init) add(roots.run, node);
  }
  for (const auto& [tensor, value] : request.feeds) {
    if (const NodeId found = same_node(from, tensor.node, to); found != kNoNode)
      roots.fed.push_back({found, tensor.slot});
  }
  return roots;
}

RunRequest request_of_step(const RunRequest& request, const Graph& from, const GraphFile& step,
                           const std::vector<NamedRef>& fetches, const NamedTensors& gradients) {
  const Graph& to = step.graph;
  RunRequest made;
  const auto node_of = [&](NodeId node) { return same_node(from, node, to); };
  size_t next = 0;  // among the resolved fetches, of which a gradient has two
  for (const NamedRef& ref : fetches) {
    if (auto gradient = gradients.find(ref.name); gradient != gradients.end()) {
      made.fetches.push_back({ref.name, gradient->second});
      next += 2;
    } else {
      const Fetch& fetch = request.fetches[next++];
      made.fetches.push_back({ref.name, {node_of(fetch.tensor.node), fetch.tensor.slot}});
    }
  }
  for (; next < request.fetches.size(); ++next) {
    const Fetch& fetch = request.fetches[next];
    made.fetches.push_back({fetch.name, {node_of(fetch.tensor.node), fetch.tensor.slot}});
  }
  for (NodeId node : request.targets) made.targets.push_back(node_of(node));
  for (NodeId node : request.init) made.init.push_back(node_of(node));
  for (const auto& [tensor, value] : request.feeds) {
    if (const NodeId node = node_of(tensor.node); node != kNoNode)
      made.feeds.emplace_back(Endpoint{node, tensor.slot}, value);
  }
  return made;
}

std::vector<std::string> names_of_nodes(const Graph& graph) {
  std::vector<std::string> names;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) names.emplace_back(graph.name(id));
  return names;
}

Origins origins_by_name(const Origins& origins, const std::vector<std::string>& names, const Graph& graph) {
  Origins made = origins;
  std::vector<uint32_t> of_node(graph.num_nodes(), Origins::kFile);
  for (NodeId id = 0; id < names.size(); ++id) {
    if (const NodeId now = graph.find(names[id]); now != kNoNode) of_node[now] = origins.of(id);
  }
  made.set_nodes(std::move(of_node));
  return made;
}

}  // namespace emplace
