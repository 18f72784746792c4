#include "core/place/placer_state.h"

#include <algorithm>

#include "core/base/assert.h"
#include "core/place/container_types.h"
#include "core/place/isolate_calls.h"

namespace emplace {
namespace {

constexpr NameId kUnread = ~NameId{0};
constexpr NameId kMalformed = kUnread - 1;

const std::string* find_override(const PlaceOptions& options, NodeId node) {
  const auto it = std::lower_bound(options.overrides.begin(), options.overrides.end(), node,
                                   [](const auto& entry, NodeId id) { return entry.first < id; });
  return it != options.overrides.end() && it->first == node ? &it->second : nullptr;
}

// The last entry of a node counts.
PlaceOptions sorted_by_node(PlaceOptions options) {
  auto& list = options.assigned;
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  list.erase(list.begin(), std::unique(list.rbegin(), list.rend(), same).base());
  return options;
}

std::vector<NameId> names_of(const DeviceSet& devices, NameTable& names) {
  std::vector<NameId> ids;
  for (const Device& d : devices.devices) ids.push_back(names.intern(d.parsed));
  return ids;
}

std::vector<NodeId> ranks_of(std::span<const NodeId> order) {
  std::vector<NodeId> ranks(order.size());
  for (NodeId i = 0; i < order.size(); ++i) ranks[order[i]] = i;
  return ranks;
}

}  // namespace

std::string_view requested_device(const Graph& graph, const PlaceOptions& options, NodeId node) {
  if (!options.overrides.empty()) {
    if (const std::string* text = find_override(options, node)) return *text;
  }
  return options.clear_devices ? std::string_view{} : graph.requested_device(node);
}

PlacerState::PlacerState(const GraphFile& f, const Graph& g, const DeviceSet& d, const PlaceOptions& o,
                         std::span<const NodeId> ids)
    : file(f),
      graph(g),
      devices(d),
      options(sorted_by_node(o)),
      lists(d),
      kernels(*f.ops, lists, o.available_kernels_only),
      groups(g.num_nodes(), names, lists),
      candidates(d, names, lists),
      device_names(names_of(d, names)),
      facts_(g.types().size()),
      order_(ids.begin(), ids.end()),
      ranks_(ranks_of(ids)),
      request_names_(g.num_texts(), kUnread),
      in_use_(d.devices.size()) {}

PlacerState::~PlacerState() = default;

std::optional<NameId> PlacerState::requested_name(NodeId node) {
  NameId* known = nullptr;
  if (!options.overrides.empty() && find_override(options, node)) {
    known = &override_names_.try_emplace(node, kUnread).first->second;
  } else if (options.clear_devices) {
    return kNoName;
  } else {
    known = &request_names_[graph.node(node).device];
  }
  if (*known == kUnread) *known = names.parse(requested_text(node)).value_or(kMalformed);
  if (*known == kMalformed) return std::nullopt;
  return *known;
}

NameId PlacerState::requested_name(NodeId node) const {
  NameId id;
  if (auto it = override_names_.find(node); it != override_names_.end()) {
    id = it->second;
  } else {
    id = options.clear_devices ? kNoName : request_names_[graph.node(node).device];
  }
  EMPLACE_ASSERT(id != kUnread, "place() reads the request of every node");
  return id == kMalformed ? kNoName : id;
}

void PlacerState::use_device(DeviceId device) {
  if (device == kNoDevice || in_use_[device]) return;
  in_use_[device] = true;
  devices_in_use.push_back(device);
}

size_t PlacerState::num_matching(NameId name) {
  auto [it, is_new] = matching_.try_emplace(name);
  if (is_new) it->second = candidates.matching(names.at(name)).size();
  return it->second;
}

bool PlacerState::is_override(NodeId node) const {
  return !options.overrides.empty() && find_override(options, node) != nullptr;
}

void PlacerState::find_facts(const NodeType& type, TypeFacts& f) {
  const KernelLookup::Supported& supported = kernels.supported(type);
  f.known = true;
  f.types = supported.types;
  f.lookup_failed = supported.failed;
  f.attr_mismatch = supported.attr_mismatch;
  const bool exempt = type.traits->ignores_resource_inputs;
  for (DType t : type.input_types) {
    f.reference_input |= !exempt && (is_ref(t) || t == DType::kResource);
    f.variant_input |= t == DType::kVariant;
  }
  if (type.input_types.empty() && type.output_types.size() == 1) {
    f.generator = !is_ref(type.output_types[0]);
    f.handle_maker = is_ref(type.output_types[0]) || type.output_types[0] == DType::kResource;
  }
  f.metadata = type.traits->metadata;
  f.identity = type.traits->placed_with_source;
  f.dataset = is_dataset_op(type);
  f.inspected_call = is_inspected_call(type);
}

}  // namespace emplace
