// Part of core/place/placement.h: The sentence for every reason, and the verdicts on devices.
#include <algorithm>

#include "core/base/cat.h"
#include "core/device/device_text.h"
#include "core/place/candidate_sets.h"
#include "core/place/conflicts.h"
#include "core/place/group_tree.h"
#include "core/place/kernel_text.h"
#include "core/place/placer_state.h"

namespace emplace {
namespace {

class Explainer {
 public:
  Explainer(const Placement& placement, NodeId node)
      : state_(*placement.state),
        graph_(state_.graph),
        decision_(placement.of(node)),
        node_(node),
        root_(state_.groups.at(decision_.group)) {}

  std::string text() const;

 private:
  std::string device() const { return short_device_name(state_.devices, decision_.device); }
  std::string_view device_type() const { return state_.devices.at(decision_.device).type; }
  std::string because() const { return cat('\'', graph_.name(decision_.because), '\''); }
  std::string_view request() const { return state_.requested_text(node_); }
  bool supports(NodeId node, DeviceId d) const {
    return state_.lists.has(state_.facts(node).types, state_.lists.type_of(d));
  }

  std::string tied() const;
  std::string link_to(const Link& link) const;
  std::string unmet() const;
  std::string default_text() const;
  std::string no_kernel_text(NodeId n) const;
  std::string kernel_priority() const;
  std::string partial_request() const;
  std::string own_task_first() const;
  std::string no_kernel_where_asked() const;
  NodeId member_without_kernel(DeviceId device) const;
  NodeId unmet_member() const;

  const PlacerState& state_;
  const Graph& graph_;
  const Decision& decision_;
  const NodeId node_;
  const Member& root_;
};

std::string Explainer::text() const {
  switch (decision_.reason) {
    case Reason::kNone:
      break;
    case Reason::kAssigned:
      return cat("was placed on ", device(), " beforehand");
    case Reason::kRequested:
      return cat("asks for ", request());
    case Reason::kOverride:
      return cat("the command line asks for ", request());
    case Reason::kPartialRequest:
      return partial_request();
    case Reason::kColocated:
    case Reason::kResourceEdge:
    case Reason::kReferenceEdge:
      return tied() + unmet();
    case Reason::kOnlyKernel:
      return no_kernel_text(node_);
    case Reason::kKernelPriority:
      return kernel_priority();
    case Reason::kGeneratorWithConsumer:
      return cat("has no inputs and goes where its consumers are: ", because(), " is on ", device());
    case Reason::kMetadataWithInput:
      return cat("needs only the shape of ", because(), " and stays with it on ", device());
    case Reason::kIdentityWithSource:
      return cat("passes on ", because(), " and stays with it on ", device());
    case Reason::kHostVariant:
      return "its values (a dataset, a list of strings) can live in host memory only";
    case Reason::kDefault:
      return default_text();
    case Reason::kSoftNoKernel:
      return cat("asks for ", request(), ", but ", no_kernel_where_asked());
    case Reason::kSoftNoDevice:
      return cat("asks for ", request(), ", but there is no such device");
    case Reason::kSoftMovedWithResource:
      return cat("asks for ", request(), ", but ", no_kernel_where_asked(), "; the resource moved with it");
    case Reason::kCost:
      return state_.cost_texts.at(decision_.group);
  }
  return "is not placed";
}

std::string Explainer::tied() const {
  const GroupTrees& trees = trees_of(state_);
  if (decision_.because != kNoNode && decision_.because != node_) {
    const Link* link = trees.link_of(node_);
    if (!link) return cat("is tied to ", because(), ", which is on ", device());
    const bool direct = link->a == decision_.because || link->b == decision_.because;
    return cat(link_to(*link), direct ? "" : cat(", and so on to ", because()), ", which is on ", device());
  }
  // The first of its group: others ask, or limit what is possible.
  for (const BodyDemand& d : state_.body_demands) {
    if (state_.groups.root(d.node) == decision_.group) return demands_text(state_, d);
  }
  const GroupTrees::Group* group = trees.group_of(node_);
  if (!group) return cat("its group can be on ", device());
  if (group->asks != kNoNode && group->asks != node_) {
    const Link* link = trees.link_of(group->asks);
    const bool direct = link && (link->a == node_ || link->b == node_);
    return cat(direct ? link_to(*link) : cat("is tied to '", graph_.name(group->asks), '\''), ", which asks for ",
               state_.requested_text(group->asks));
  }
  if (const NodeId n = unmet_member(); n != kNoNode && state_.options.allow_soft_placement) {
    return cat("is tied to '", graph_.name(n), "', which asks for ", state_.requested_text(n),
               "; the group cannot have that, so soft placement drops it");
  }
  for (const NodeId n : group->without_kernel) {
    if (n != kNoNode && n != node_) return cat("is tied to '", graph_.name(n), "': ", no_kernel_text(n));
  }
  return cat("its group can be on ", device());
}

// How `link` ties this node to the one at its other end.
std::string Explainer::link_to(const Link& link) const {
  const std::string_view other = graph_.name(link.a == node_ ? link.b : link.a);
  switch (link.kind) {
    case LinkKind::kReferenceEdge:
      return cat("a reference edge ties it to '", other, '\'');
    case LinkKind::kResourceEdge:
      return cat("a resource edge ties it to '", other, '\'');
    default:
      return cat("is colocated (_class) with '", other, '\'');
  }
}

std::string Explainer::unmet() const {
  if (request().empty()) return {};
  if (state_.names.at(state_.requested_name(node_)).matches(state_.devices.at(decision_.device).parsed)) return {};
  return cat("; its own request, ", request(), ", does not count");
}

// Which type of device a node has no kernel for.
std::string Explainer::no_kernel_text(NodeId n) const {
  for (DeviceId d = 0; d < state_.devices.size(); ++d) {
    if (!supports(n, d)) return missing_kernel_text(*state_.file.ops, graph_.type(n), state_.devices.at(d).type);
  }
  return cat(graph_.op(n), " has kernels for all devices");
}

NodeId Explainer::member_without_kernel(DeviceId device) const {
  if (!supports(node_, device)) return node_;
  const GroupTrees::Group* group = trees_of(state_).group_of(node_);
  return group ? group->without_kernel[state_.lists.type_of(device)] : kNoNode;
}

std::string Explainer::no_kernel_where_asked() const {
  const auto matching = state_.candidates.matching(state_.names.at(state_.requested_name(node_)));
  for (DeviceId d : matching) {
    const NodeId n = member_without_kernel(d);
    if (n == kNoNode) continue;
    const std::string missing = missing_kernel_text(*state_.file.ops, graph_.type(n), state_.devices.at(d).type);
    return n == node_ ? missing : cat("'", graph_.name(n), "', which is tied to it, cannot be there: ", missing);
  }
  for (const BodyDemand& d : state_.body_demands) {
    if (state_.groups.root(d.node) == decision_.group) return demands_text(state_, d);
  }
  if (const NodeId n = unmet_member(); n != kNoNode) {
    return cat("'", graph_.name(n), "', which is tied to it, asks for ", state_.requested_text(n),
               ", and both cannot be had");
  }
  return "not every node that is tied to it can be there";
}

// Another node of the group whose request was not met either.
NodeId Explainer::unmet_member() const {
  const GroupTrees::Group* group = trees_of(state_).group_of(node_);
  if (!group) return kNoNode;
  for (NodeId n : group->members) {
    const DeviceName& asked = state_.names.at(state_.requested_name(n));
    if (n != node_ && !asked.matches(state_.devices.at(decision_.device).parsed)) return n;
  }
  return kNoNode;
}

std::string Explainer::kernel_priority() const {
  std::string out = "its kernels have priorities:";
  for (const SupportedType& s : state_.lists.at(root_.types)) {
    append(out, ' ', state_.lists.types()[s.type], ' ', s.priority, ',');
  }
  out.back() = ';';
  return cat(out, " the highest decides");
}

std::string Explainer::partial_request() const {
  const auto matching = state_.candidates.matching(state_.names.at(state_.requested_name(node_)));
  return cat("asks for ", request(), ", which ", matching.size(), " devices match; ", device(), " is the first of them",
             own_task_first());
}

// Where the devices of one type are on several tasks.
std::string Explainer::own_task_first() const {
  const DeviceSet& devices = state_.devices;
  if (devices.own_task.empty() || !devices.is_local(decision_.device)) return {};
  for (DeviceId d = 0; d < devices.size(); ++d) {
    if (devices.at(d).type == device_type() && !devices.is_local(d))
      return cat("; those of ", devices.own_task, ", the session's own task, come before others");
  }
  return {};
}

std::string Explainer::default_text() const {
  const size_t types = state_.lists.types().size();
  if (state_.devices.size() == 1) return cat(device(), " is the only device");
  if (types == 1) return cat(device(), " is the first of ", state_.devices.size(), " devices", own_task_first());
  return cat("asks for nothing; ", device_type(), " comes first of the types with a kernel (",
             types_text(state_.lists, root_.types), ")", own_task_first());
}

}  // namespace

std::vector<Candidate> candidates_of(const Placement& placement, NodeId node) {
  const PlacerState& state = *placement.state;
  const Decision& decision = placement.of(node);
  const Member& root = state.groups.at(decision.group);
  std::vector<Candidate> out;
  for (DeviceId d = 0; d < state.devices.size(); ++d)
    out.push_back({d, d == decision.device ? Verdict::kChosen : verdict_on(state, root, node, d)});
  return out;
}

std::string reason_text(const Placement& placement, NodeId node) { return Explainer(placement, node).text(); }

}  // namespace emplace
