#include "core/place/changes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/cat.h"
#include "core/place/conflicts.h"
#include "core/place/group_tree.h"
#include "core/place/kernel_text.h"
#include "core/place/place_in_order.h"
#include "core/place/placer_state.h"

namespace emplace {
namespace {

class ChangeFinder {
 public:
  ChangeFinder(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options, const Placement& placement,
               NodeId node, const DeviceName& wanted, const PlaceByCost& by_cost)
      : file_(file),
        devices_(devices),
        options_(options),
        placement_(placement),
        state_(*placement.state),
        node_(node),
        wanted_(wanted),
        by_cost_(by_cost),
        request_(wanted.to_string()) {
    const GroupTrees::Group* group = trees_of(state_).group_of(node);
    members_ = group ? group->members : std::vector<NodeId>{node};
  }

  ChangeSearch find();

 private:
  void find_obstacles(ChangeSearch& result) const;
  struct Proposal {
    std::string text;
    PlaceOptions options;
  };
  void propose_release(std::vector<Proposal>& proposals) const;
  void propose_requests(std::vector<Proposal>& proposals) const;
  Proposal request_on(const std::vector<NodeId>& nodes) const;
  std::vector<NodeId> contrary() const;
  PlaceOptions with_requests(const std::vector<NodeId>& nodes) const;
  std::optional<Change> attempt(std::string text, PlaceOptions options);

  const GraphFile& file_;
  const DeviceSet& devices_;
  const PlaceOptions& options_;
  const Placement& placement_;
  const PlacerState& state_;
  const NodeId node_;
  const DeviceName& wanted_;
  const PlaceByCost& by_cost_;
  const std::string request_;
  std::vector<NodeId> members_;
  std::string refusal_;  // why --auto chose nothing for the last change that TensorFlow's rule allows
};

PlaceOptions ChangeFinder::with_requests(const std::vector<NodeId>& nodes) const {
  PlaceOptions changed = options_;
  std::map<NodeId, std::string> requests(changed.overrides.begin(), changed.overrides.end());
  for (NodeId n : nodes) requests[n] = request_;
  changed.overrides.assign(requests.begin(), requests.end());
  return changed;
}

std::optional<Change> ChangeFinder::attempt(std::string text, PlaceOptions options) {
  std::vector<std::string> details;
  options.log_device_placement = false;
  Result<Placement> other = place_in_order(file_, devices_, options, state_.order(), details, nullptr);
  const auto is_there = [&] { return wanted_.matches(devices_.at(other->device(node_)).parsed); };
  if (!other.ok() || !is_there()) return std::nullopt;
  if (by_cost_) {
    if (const Status chosen = by_cost_(options, *other); !chosen.ok()) {
      refusal_ = chosen.message();
      return std::nullopt;
    }
    if (!is_there()) return std::nullopt;
  }
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
    result.obstacles.push_back(n == node_ ? missing
                                          : cat("'", file_.graph.name(n), "', which is tied to it: ", missing));
  }
  for (const BodyDemand& d : state_.body_demands) {
    if (state_.groups.root(d.node) != placement_.of(node_).group) continue;
    const auto fits = [&](DeviceId at) {
      return state_.names.at(d.requested).matches(devices_.at(at).parsed) &&
             state_.lists.has(d.types, state_.lists.type_of(at));
    };
    if (std::none_of(there.begin(), there.end(), fits)) result.obstacles.push_back(demands_text(state_, d));
  }
}

// Members, other than the node, whose own request `wanted_` does not fulfil.
std::vector<NodeId> ChangeFinder::contrary() const {
  std::vector<NodeId> out;
  for (NodeId n : members_) {
    const NameId asked = state_.requested_name(n);
    if (n != node_ && asked != kNoName && !state_.names.at(asked).compatible_with(wanted_)) out.push_back(n);
  }
  return out;
}

ChangeFinder::Proposal ChangeFinder::request_on(const std::vector<NodeId>& nodes) const {
  std::string names;
  for (size_t i = 0; i < nodes.size(); ++i) {
    append(names,
           i == 0                 ? ""
           : i + 1 < nodes.size() ? ", "
                                  : " and ",
           nodes[i] == node_ ? "it" : cat('\'', file_.graph.name(nodes[i]), '\''));
  }
  return {cat("request ", request_, " on ", names), with_requests(nodes)};
}

void ChangeFinder::propose_release(std::vector<Proposal>& proposals) const {
  PlaceOptions free = options_;
  std::erase_if(free.assigned, [&](const auto& entry) {
    return std::find(members_.begin(), members_.end(), entry.first) != members_.end();
  });
  if (free.assigned.size() == options_.assigned.size()) return;
  proposals.push_back({"take it (and what is tied to it) out of the saved placement", free});
  PlaceOptions asked = with_requests({node_});
  asked.assigned = free.assigned;
  proposals.push_back({cat("take it out of the saved placement, and request ", request_, " on it"), asked});
}

// Fewest nodes first: of its group only those matter that ask for something else, and those that decide.
void ChangeFinder::propose_requests(std::vector<Proposal>& proposals) const {
  constexpr size_t kSingles = 4, kNamed = 4;
  proposals.push_back(request_on({node_}));
  if (members_.size() == 1) return;
  const std::vector<NodeId> others = contrary();
  std::vector<NodeId> singles(others.begin(),
                              others.begin() + static_cast<std::ptrdiff_t>(std::min(kSingles, others.size())));
  // The request of what makes a handle counts for all who use it.
  const auto decides = [this](NodeId n) { return n == placement_.of(node_).because || state_.facts(n).handle_maker; };
  for (NodeId n : members_) {
    if (singles.size() == 2 * kSingles) break;
    if (n != node_ && decides(n) && std::find(singles.begin(), singles.end(), n) == singles.end()) singles.push_back(n);
  }
  for (NodeId n : singles) {
    proposals.push_back(request_on({n}));
    proposals.back().text += ", which pulls it";
  }
  if (others.size() > 1 && others.size() <= kNamed) proposals.push_back(request_on(others));
  if (!others.empty() && others.size() < kNamed) {
    std::vector<NodeId> with_node{node_};
    with_node.insert(with_node.end(), others.begin(), others.end());
    proposals.push_back(request_on(with_node));
  }
  if (others.size() > kNamed) {
    proposals.push_back(
        {cat("request ", request_, " on the ", others.size(), " nodes of its group that ask for another device"),
         with_requests(others)});
  }
  proposals.push_back(
      {cat("request ", request_, " on all ", members_.size(), " nodes of its group"), with_requests(members_)});
}

ChangeSearch ChangeFinder::find() {
  ChangeSearch result;
  if (const DeviceId now = placement_.device(node_); wanted_.matches(devices_.at(now).parsed)) {
    result.works.push_back({"nothing has to change, it is there", now, {}});
    return result;
  }
  find_obstacles(result);
  if (!result.obstacles.empty() && !options_.available_kernels_only) return result;

  std::vector<Proposal> proposals;
  propose_release(proposals);
  propose_requests(proposals);
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
  if (result.obstacles.empty())
    result.obstacles.push_back(refusal_.empty() ? "no change of requests brings it there"
                                                : cat("with that request: ", refusal_));
  return result;
}

}  // namespace

ChangeSearch find_change(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                         const Placement& placement, NodeId node, const DeviceName& wanted,
                         const PlaceByCost& by_cost) {
  return ChangeFinder(file, devices, options, placement, node, wanted, by_cost).find();
}

}  // namespace emplace
