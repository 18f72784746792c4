#include "core/place/changes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/cat.h"
#include "core/place/group_tree.h"
#include "core/place/kernel_text.h"
#include "core/place/placer_state.h"

namespace emplace {
namespace {

class ChangeFinder {
 public:
  ChangeFinder(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options, const Placement& placement,
               NodeId node, const DeviceName& wanted)
      : file_(file), devices_(devices), options_(options), placement_(placement), state_(*placement.state), node_(node),
        wanted_(wanted), request_(wanted.to_string()) {
    const GroupTrees::Group* group = state_.trees().group_of(node);
    members_ = group ? group->members : std::vector<NodeId>{node};
  }

  ChangeSearch find();

 private:
  void find_obstacles(ChangeSearch& result) const;
  PlaceOptions with_requests(const std::vector<NodeId>& nodes) const;
  std::optional<Change> attempt(std::string text, PlaceOptions options) const;

  const GraphFile& file_;
  const DeviceSet& devices_;
  const PlaceOptions& options_;
  const Placement& placement_;
  const PlacerState& state_;
  const NodeId node_;
  const DeviceName& wanted_;
  const std::string request_;
  std::vector<NodeId> members_;
};

PlaceOptions ChangeFinder::with_requests(const std::vector<NodeId>& nodes) const {
  PlaceOptions changed = options_;
  std::map<NodeId, std::string> requests(changed.overrides.begin(), changed.overrides.end());
  for (NodeId n : nodes) requests[n] = request_;
  changed.overrides.assign(requests.begin(), requests.end());
  return changed;
}

std::optional<Change> ChangeFinder::attempt(std::string text, PlaceOptions options) const {
  std::vector<std::string> details;
  options.log_device_placement = false;
  const Result<Placement> other = place(file_, devices_, options, details);
  if (!other.ok() || !wanted_.matches(devices_.at(other->device(node_)).parsed)) return std::nullopt;
  Change change{std::move(text), other->device(node_), {}};
  for (NodeId n = 0; n < file_.graph.num_nodes(); ++n) {
    if (n != node_ && other->device(n) != placement_.device(n)) change.moves.push_back(n);
  }
  return change;
}

void ChangeFinder::find_obstacles(ChangeSearch& result) const {
  const std::vector<DeviceId> there = state_.candidates.matching(wanted_);
  if (there.empty()) {
    std::string names;
    for (const Device& d : devices_.devices) append(names, names.empty() ? "" : ", ", d.name);
    result.obstacles.push_back(cat("there is no device ", request_, "; devices: ", names));
    return;
  }
  const auto can_run = [&](NodeId n, DeviceId d) {
    return state_.lists.has(state_.facts(n).types, state_.lists.type_of(d));
  };
  for (NodeId n : members_) {
    if (std::any_of(there.begin(), there.end(), [&](DeviceId d) { return can_run(n, d); })) continue;
    const std::string missing = missing_kernel_text(*file_.ops, file_.graph.type(n), devices_.at(there[0]).type);
    result.obstacles.push_back(n == node_ ? missing : cat("'", file_.graph.name(n), "', which is tied to it: ", missing));
  }
}

ChangeSearch ChangeFinder::find() {
  ChangeSearch result;
  find_obstacles(result);
  if (!result.obstacles.empty() && !options_.available_kernels_only) return result;

  struct Proposal {
    std::string text;
    PlaceOptions options;
  };
  std::vector<Proposal> proposals;
  if (!options_.assigned.empty()) {
    PlaceOptions free = options_;
    std::erase_if(free.assigned, [&](const auto& entry) {
      return std::find(members_.begin(), members_.end(), entry.first) != members_.end();
    });
    if (free.assigned.size() < options_.assigned.size()) {
      proposals.push_back({"take it (and what is tied to it) out of the saved placement", free});
      PlaceOptions asked = with_requests({node_});
      asked.assigned = free.assigned;
      proposals.push_back({cat("take it out of the saved placement, and request ", request_, " on it"), asked});
    }
  }
  proposals.push_back({cat("request ", request_, " on it"), with_requests({node_})});
  if (members_.size() > 1) {
    for (NodeId n : members_) {  // the member that decides, often a variable
      if (n == node_ || n != placement_.of(node_).because) continue;
      proposals.push_back({cat("request ", request_, " on '", file_.graph.name(n), "', which pulls it"), with_requests({n})});
    }
    proposals.push_back({cat("request ", request_, " on all ", members_.size(), " nodes of its group"), with_requests(members_)});
  }
  if (!options_.allow_soft_placement) {
    PlaceOptions soft = with_requests({node_});
    soft.allow_soft_placement = true;
    proposals.push_back({cat("request ", request_, " on it, and allow soft placement"), soft});
  }
  if (options_.available_kernels_only) {
    PlaceOptions all = with_requests(members_);
    all.available_kernels_only = false;
    proposals.push_back({"use TensorFlow's kernels (--kernels tensorflow)", all});
  }
  for (Proposal& p : proposals) {
    if (std::optional<Change> change = attempt(p.text, std::move(p.options))) {
      result.works.push_back(std::move(*change));
      result.obstacles.clear();
      return result;
    }
  }
  if (result.obstacles.empty()) result.obstacles.push_back("no change of requests brings it there");
  return result;
}

}  // namespace

ChangeSearch find_change(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                         const Placement& placement, NodeId node, const DeviceName& wanted) {
  return ChangeFinder(file, devices, options, placement, node, wanted).find();
}

}  // namespace emplace
