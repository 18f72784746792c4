/// What a run is asked to do, resolved against the graph: fetches, targets, feeds and initializers, from flags first,
/// from the graph file else.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/pipeline_options.h"
#include "core/train/gradient_fetch.h"

namespace emplace {

/// A fetched tensor: the name it is printed under, and where it comes from.
struct Fetch {
  std::string name;
  Endpoint tensor;
  bool by_key = false;  // the name is a signature's, not a tensor's
};

struct RunRequest {
  std::vector<Fetch> fetches;
  std::vector<NodeId> targets;
  std::vector<NodeId> init;
  std::vector<std::pair<Endpoint, Tensor>> feeds;  // the same in every step
  std::vector<Endpoint> fed_anew;                  // and what each step brings
};

/// The names in the file's `fetch`, `target`, `init` and `feed`, and the fed values: adds a problem for each that does
/// not fit the graph. REQUIRES: a validated file. `unsound` not null: the graph has problems, so that outputs and types
/// are not all known, or it is the graph of a file of which `file` is only a part; then only nodes that cannot be in
/// either are told.
void check_request_names(const GraphFile& file, const Graph* unsound, Problems& problems);

/// Tensors that gradients(LOSS,X) of the flags name: the file's own were checked with it.
Status check_flag_gradients(const GraphFile& file, const RunOptions& options);

/// The fetches that count: the flags', else the file's. Of a sequence that the file fetches all tensors.
std::vector<NamedRef> fetch_names(const GraphFile& file, const RunOptions& options);

/// `gradients`: what add_fetched_gradients() made of fetch_names(). REQUIRES: check_request_names() found nothing. An
/// error says whether a flag or the file is to blame. `problems` gets what is wrong with the file's own fetches.
Result<RunRequest> resolve_request(const GraphFile& file, const RunOptions& options, const NamedTensors& gradients,
                                   Problems& problems);

/// Those tensors. An error is a flag's, or, of names that have a position in the file, the file's and a problem, too.
Result<std::vector<Fetch>> resolve_fetches(const GraphFile& file, const std::vector<NamedRef>& names,
                                           const NamedTensors& gradients, Problems& problems);

/// The nodes that give variables their first values: the file's `init`, or what stands for it.
std::vector<NodeId> initializers(const GraphFile& file);

/// What the file's `feed` and --feed name, as far as it is there: for what looks at a graph that need not run.
std::vector<Endpoint> fed_tensors(const GraphFile& file, const RunOptions& options);

/// --feed over the file's `feed`. REQUIRES: check_request_names() found nothing. An error is a flag's.
Status resolve_feeds(const GraphFile& file, const RunOptions& options, RunRequest& request);

/// Outputs that were asked for by a signature's key have that for a name. REQUIRES: `request` is that of the options.
void name_by_keys(const RunOptions& options, RunRequest& request);

/// By node: does the request run it?
std::vector<char> needed_nodes(const Graph& g, const RunRequest& request);

/// The placeholders that a request needs and does not feed.
std::vector<NodeId> unfed_placeholders(const GraphFile& file, const RunRequest& request);

/// Adds a problem for every op that emplace cannot run, of the nodes that `request` needs. REQUIRES: a validated file.
void check_runnable(const GraphFile& file, const RunRequest& request, Problems& problems);

/// The same for all nodes, also of a file with problems. `typed` has the types of those nodes which have one, under the
/// same names; may be null. A node without a type counts if its op cannot be run whatever the type, and does not if
/// nobody knows the op.
void check_all_runnable(const GraphFile& file, const Graph* typed, Problems& problems);

}  // namespace emplace
