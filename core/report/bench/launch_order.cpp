#include "core/report/bench/launch_order.h"

#include <algorithm>
#include <unordered_set>

namespace emplace {

LaunchOrder::LaunchOrder(const Graph& graph, const std::deque<LaunchedWork>& work, const std::vector<char>& ran)
    : graph_(graph), work_(work), sources_(work.size()) {
  list(ran);
  for (uint32_t i = 0; i < work_.size(); ++i) {
    if (ran[i]) sources_[i] = find_sources(i);
  }
}

void LaunchOrder::list(const std::vector<char>& ran) {
  for (uint32_t i = 0; i < work_.size(); ++i) {
    if (!ran[i]) continue;
    for (const NodeId node : work_[i].nodes) {
      if (work_[i].from == kNoDevice)
        computes_[node] = i;
      else
        moves_[node].push_back(i);
    }
  }
}

std::vector<uint32_t> LaunchOrder::find_sources(uint32_t work) const {
  std::vector<uint32_t> sources;
  std::vector<NodeId> open;
  const auto read = [&](NodeId node) {
    for (const Endpoint& e : graph_.inputs(node)) open.push_back(e.node);
    for (const Endpoint& e : graph_.controls(node)) open.push_back(e.node);
  };
  if (work_[work].from == kNoDevice)
    for (const NodeId node : work_[work].nodes) read(node);
  else
    open = work_[work].nodes;
  std::unordered_set<NodeId> seen;
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (seen.insert(node).second && !add_makers(work, node, sources)) read(node);
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

/// The copies of a tensor to where `reader` is, else what made it. False: neither has a launch.
bool LaunchOrder::add_makers(uint32_t reader, NodeId node, std::vector<uint32_t>& sources) const {
  const auto made = computes_.find(node);
  if (made != computes_.end() && made->second == reader) return true;
  bool found = false;
  const auto moved = moves_.find(node);
  if (work_[reader].from == kNoDevice && moved != moves_.end()) {
    for (const uint32_t copy : moved->second) {
      if (work_[copy].device == work_[reader].device) sources.push_back(copy), found = true;
    }
  }
  if (!found && made != computes_.end()) sources.push_back(made->second), found = true;
  return found;
}

}  // namespace emplace
