/// Lowering as stages of the pipeline: the whole file with its control flow lowered, which is what gets placed, and the
/// graph of one step, cut from the placed graph once the fetches are known (core/graph/lower/ does the work).
#pragma once

#include <memory>
#include <vector>

#include "core/graph/lower/lower.h"
#include "core/partition/copies.h"
#include "core/pipeline_options.h"
#include "core/place/placement.h"
#include "core/run_request.h"

namespace emplace {

/// Nodes and tensors of the placed graph that a step is for.
struct StepRoots {
  bool whole = false;  // the step is the whole graph
  std::vector<NodeId> fetched;
  std::vector<NodeId> run;
  std::vector<Endpoint> fed;
};

/// The graph of one step beside the placed one: cut, calls inlined, what nodes got in the first placement as requests.
struct StepGraph {
  std::shared_ptr<const GraphFile> file;
  Origins origins;
  PlaceOptions options;  // always soft
  Placement placement;
  CopyPlan copies;
  RunRequest request;
};

/// Where the graph of a step comes from.
struct StepOrigin {
  std::shared_ptr<const GraphFile> file;  // the placed graph
  std::shared_ptr<const PlaceOptions> options;
  std::shared_ptr<const Placement> placement;
};

/// Nodes of the step that soft placement moved where the whole graph was placed: in the step they ask for what they
/// got.
int64_t count_moved(const StepOrigin& origin, const Graph& step, const DeviceSet& devices);

/// The whole file, control flow lowered, calls kept or (mode kInline) inlined.
Lowered lower_file(std::shared_ptr<const GraphFile> file, const FunctionOptions& options, Problems& problems);

/// `placed` has that placement, made in that order. Adds a problem for what cannot be lowered. `to_run`: calls and
/// control flow that stay nodes where the step is shown are replaced by their bodies too.
Lowered lower_step(const std::shared_ptr<const GraphFile>& placed, const Placement& placement,
                   std::span<const NodeId> order, const DeviceSet& devices, const StepRoots& roots,
                   const FunctionOptions& functions, bool to_run, Problems& problems);

/// How nodes of a step are placed.
PlaceOptions step_place_options(const PlaceOptions& options);

/// What a request is for, where gradients among the fetches stand for the tensors that they name.
Result<RunRequest> resolve_before_gradients(const GraphFile& file, const RunOptions& options, Problems& problems);
/// Of another graph, that has the nodes which count under the same names.
StepRoots find_roots(const RunRequest& request, const Graph& from, const Graph& to, bool with_init);
/// The same request of a step's graph. Fetches of gradients come from `gradients`.
RunRequest request_of_step(const RunRequest& request, const Graph& from, const GraphFile& step,
                           const std::vector<NamedRef>& fetches, const NamedTensors& gradients);
/// Nodes got new ids, and nodes that lowering knows nothing of came in.
Origins origins_by_name(const Origins& origins, const std::vector<std::string>& names, const Graph& graph);
std::vector<std::string> names_of_nodes(const Graph& graph);

}  // namespace emplace
