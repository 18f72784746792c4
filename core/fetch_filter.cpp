#include "core/fetch_filter.h"

#include <algorithm>
#include <unordered_set>

#include "core/base/cat.h"
#include "core/pipeline.h"

namespace emplace {
namespace {

bool can_be_fetched(const Graph& g, NodeId node, uint32_t slot) {
  const OpTraits& traits = g.traits(node);
  const DType type = base_type(g.output_type({node, slot}));
  return traits.control == Control::kNone && !traits.placeholder && type != DType::kResource && type != DType::kVariant;
}

/// Of the file's own nodes, in its order.
std::vector<std::string> tensor_names(const Placed& placed, const std::vector<char>& chosen) {
  const Graph& g = placed.file->graph;
  std::vector<std::string> names;
  for (NodeId node = 0; node < g.num_nodes(); ++node) {
    if (!chosen[node] || (placed.lowering && placed.lowering->origins.of(node) != Origins::kFile)) continue;
    for (uint32_t slot = 0; slot < g.num_outputs(node); ++slot) {
      if (can_be_fetched(g, node, slot))
        names.push_back(slot == 0 ? std::string(g.name(node)) : cat(g.name(node), ":", slot));
    }
  }
  return names;
}

Result<Placed> placed_in_silence(const StageContext& c, Log& silent) {
  PipelineOptions options = c.options;
  std::erase(options.run.fetch, kEveryFetch);
  options.placing.log_device_placement.clear();
  options.placing.placement_out.clear();
  options.dump.reset();
  StageContext look(std::move(options), c.path, silent, c.stop);
  look.cluster = c.cluster;
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(look));
  ASSIGN_OR_RETURN(const Validated validated, validate_graph(look, loaded));
  return place_graph(look, validated);
}

}  // namespace

bool fetches_by_filter(const RunOptions& options) {
  return std::find(options.fetch.begin(), options.fetch.end(), kEveryFetch) != options.fetch.end();
}

Status name_fetches(StageContext& c) {
  Log silent;
  silent.set_level(LogLevel::kOff);
  const Result<Placed> placed = placed_in_silence(c, silent);
  std::vector<std::string>& fetch = c.options.run.fetch;
  std::erase(fetch, kEveryFetch);
  if (!placed.ok()) return ok_status();
  const Result<std::vector<char>> chosen =
      c.options.run.watched.shown(placed->file->graph, *placed->devices, *placed->placement);
  if (!chosen.ok()) return chosen.status().with_context("--fetch '*'").blamed(Blame::kUsage);
  std::vector<std::string> names = tensor_names(*placed, *chosen);
  if (names.empty())
    return invalid_argument("--fetch '*': none of these nodes makes a tensor that can be fetched")
        .blamed(Blame::kUsage);
  const std::unordered_set<std::string> asked(fetch.begin(), fetch.end());
  for (std::string& name : names) {
    if (!asked.contains(name)) fetch.push_back(std::move(name));
  }
  return ok_status();
}

}  // namespace emplace
