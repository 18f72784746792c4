#include "core/place/place_errors.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/device/device_text.h"
#include "core/graph/node_position.h"
#include "core/op/attr_text.h"
#include "core/place/conflicts.h"
#include "core/place/kernel_text.h"
#include "core/place/node_text.h"

namespace emplace {
namespace {

constexpr size_t kMaxLines = 100;

std::string join(const std::vector<std::string>& texts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) append(out, i ? separator : std::string_view{}, texts[i]);
  return out;
}

/// Of "gpu" and "gpu0" what was meant; of all others nothing.
std::string misspelt_type(std::string_view type) {
  const size_t letters = std::min(type.find_first_of("0123456789"), type.size());
  std::string upper(type.substr(0, letters));
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if ((upper != "GPU" && upper != "CPU") || type == upper) return {};
  const std::string_view number = type.substr(letters);
  if (number.empty()) return cat(": wanted type '", upper, "' in capital letters");
  return cat("; did you mean '/device:", upper, ":", number, "'?");
}

/// What a text that is not a device stands for; if it would be one with a "/" before it, that, unless its type is none
/// that there is.
std::optional<std::string> meant_by(const std::string& request) {
  std::optional<std::string> typed = device_as_typed(request);
  const std::optional<DeviceName> name = typed ? DeviceName::parse(*typed) : std::nullopt;
  if (name && (name->type == "CPU" || name->type == "GPU")) return typed;
  std::optional<std::string> other = device_of_other_words(request);
  return other ? other : typed;
}

}  // namespace

template <class MakeStatus, class MakeLine>
void PlaceFailures::add(const MakeStatus& status, const MakeLine& line) {
  if (count_++ == 0) {
    first_ = status();
    placed_before_ = placement_.order.size();
    notes_before_ = placement_.notes.size();
  }
  if (lines_.size() < kMaxLines) lines_.push_back(line());
}

Status PlaceFailures::finish() {
  const int64_t more = count_ - static_cast<int64_t>(kMaxLines);
  if (more > 0) lines_.push_back(cat("and ", more, " more"));
  if (state_.options.eager_words && first_without_device_ != kNoNode)
    return invalid_argument(eager_text(first_without_device_));
  return std::move(first_);
}

std::string PlaceFailures::eager_text(NodeId node) const {
  const Graph& g = state_.graph;
  DeviceName asked = state_.devices.at(0).parsed;
  asked.ensure_specification(state_.names.at(std::as_const(state_).requested_name(node)));
  std::vector<std::string> types, devices;
  for (const SupportedType& t : state_.lists.at(std::as_const(state_).facts(node).types))
    types.push_back(state_.lists.types()[t.type]);
  for (const std::string& type : state_.lists.types()) {
    for (const Device& d : state_.devices.devices) {
      if (d.type == type) devices.push_back(d.name);
    }
  }
  return cat("Could not satisfy device specification '", asked.to_string(),
             "'. enable_soft_placement=0. Supported device types [", join(types, ", "), "]. All available devices [",
             join(devices, ", "), "].",
             g.traits(node).constant ? std::string() : cat(" [Op:", g.op(node), "] name: ", g.name(node)));
}

Placement PlaceFailures::placed_before() const {
  Placement before;
  before.decisions = placement_.decisions;
  before.order.assign(placement_.order.begin(), placement_.order.begin() + static_cast<std::ptrdiff_t>(placed_before_));
  before.notes.assign(placement_.notes.begin(), placement_.notes.begin() + static_cast<std::ptrdiff_t>(notes_before_));
  return before;
}

std::string PlaceFailures::node_line(NodeId node) const {
  const std::string position = node_position(state_.graph, state_.file.source.get(), node);
  const bool in_body = &state_.graph != &state_.file.graph;
  const Origins* origins = in_body ? nullptr : state_.options.origins;
  const std::string origin = origins ? origins->text(node) : std::string();
  return cat(position, position.empty() ? "" : ": ", state_.graph.name(node), " (", state_.graph.op(node),
             origin.empty() ? "" : ", ", origin, "): ");
}

std::string PlaceFailures::all_devices_text(bool sorted) const {
  std::vector<std::string> names;
  for (const Device& d : state_.devices.devices) names.push_back(d.name);
  if (sorted) std::sort(names.begin(), names.end());
  return join(names, ", ");
}

// --- while nodes become members ---

void PlaceFailures::lookup_failed(NodeId node) {
  const Status why = state_.kernels.failure(state_.graph.type(node), state_.graph.name(node));
  add([&] { return Status(why.code(), attach_node(why.message(), state_.graph.name(node))); },
      [&] { return cat(node_line(node), "no kernel can be chosen: ", why.message()); });
}

void PlaceFailures::no_kernel(NodeId node) {
  const Graph& g = state_.graph;
  std::vector<std::string> sorted;
  for (const Device& d : state_.devices.devices) sorted.push_back(d.type);
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const std::string types = join(sorted, ", ");
  add(
      [&] {
        return invalid_argument(
            attach_node(cat("No OpKernel was registered to support Op '", g.op(node), "' used by {{node ", g.name(node),
                            "}} with these attrs: [", summarize_attrs(g.attrs(node)), "]\nRegistered devices: [", types,
                            "]\nRegistered kernels:\n", registered_kernels_text(state_.kernels.registered(g.op(node)))),
                        g.name(node)));
      },
      [&] {
        const bool ours = state_.options.available_kernels_only && !is_runnable(g.type(node));
        return cat(node_line(node), ours ? "emplace has no kernel for it" : cat("no kernel for any of ", types));
      });
}

void PlaceFailures::malformed_request(NodeId node) {
  const std::string request = printable(state_.requested_text(node));
  add(
      [&] {
        return invalid_argument(attach_node(cat("Malformed device specification '", request,
                                                "' in node: ", node_debug_text(state_.graph, node, request, "")),
                                            state_.graph.name(node)));
      },
      [&] {
        const std::optional<std::string> meant = meant_by(request);
        return cat(node_line(node), "'", request, "' is not a device name; ",
                   meant ? cat("did you mean '", *meant, "'?")
                         : "wanted: /job:NAME/replica:N/task:N/device:TYPE:N or parts of it");
      });
}

void PlaceFailures::bad_assigned_device(NodeId node, const std::string& device, DeviceId found) {
  const auto text = [&] {
    if (!DeviceName::parse(device)) return cat("Malformed assigned device '", device, '\'');
    if (found != kNoDevice) {
      return cat("Assigned device '", device, "' does not have registered OpKernel support for ",
                 state_.graph.op(node));
    }
    return cat(
        "Assigned device '", device,
        "' does not match any device. This error can happen when one attempts to run a tf.function with resource "
        "inputs residing on remote devices. This use case is currently not supported. Here are the devices "
        "available on this machine: [",
        all_devices_text(false),
        "].If you are seeing this error when running using a tf.Session, set share_cluster_devices_in_session to "
        "true in the tf.ConfigProto.");
  };
  add([&] { return internal_error(attach_node(text(), state_.graph.name(node))); },
      [&] {
        return cat(node_line(node), "was placed on ", device,
                   " beforehand: ", found == kNoDevice ? "there is no such device" : "it has no kernel there");
      });
}

// --- before groups are built, and while they merge ---

void PlaceFailures::function_missing(NodeId call, std::string_view function) {
  auto status = [&] {
    std::vector<std::string> known;
    for (const auto& [name, value] : state_.file.library) known.push_back(printable(name));
    return invalid_argument(
        cat("Failed to find function \"", printable(function), "\" in function library: [", join(known, ", "), "]"));
  };
  add(status, [&] {
    return cat(node_line(call), "calls function '", printable(function), "', which the library does not have");
  });
}

void PlaceFailures::body_failed(NodeId call, Status why, const std::vector<std::string>& lines) {
  add([&] { return why; },
      [&] {
        return cat(node_line(call),
                   "the function it calls cannot be placed: ", lines.empty() ? why.message() : join(lines, "\n  "));
      });
}

void PlaceFailures::fixed_devices_differ(NodeId source, NodeId destination, LinkKind kind, bool assigned) {
  const Graph& g = state_.graph;
  const Member& from = state_.groups.at(state_.groups.root(source));
  const Member& to = state_.groups.at(state_.groups.root(destination));
  const std::string a = state_.names.text(assigned ? from.assigned : from.resource);
  const std::string b = state_.names.text(assigned ? to.assigned : to.resource);
  add(
      [&] {
        return invalid_argument(
            cat("Cannot place the graph because a reference or resource edge connects colocation "
                "groups with incompatible ",
                assigned ? "assigned" : "resource", " devices: ", a, " vs ", b, ". The edge src node is name='",
                g.name(source), "' (op='", g.op(source), "'), and the dst node is name='", g.name(destination),
                "' (op='", g.op(destination), "')."));
      },
      [&] {
        return cat(node_line(destination), "an edge ties it to '", g.name(source), "', which is fixed to ", a,
                   "; its own group is fixed to ", b, conflict_text(state_, source, {source, destination, kind}));
      });
}

std::string PlaceFailures::colocation_text(NodeId x, NodeId y, const MergeFailure& failure) const {
  const std::string nodes = cat("Cannot colocate nodes {{colocation_node ", state_.graph.name(x),
                                "}} and {{colocation_node ", state_.graph.name(y), "}}");
  if (!failure.no_common_type) return cat(nodes, ": ", failure.names.message());
  return cat(nodes, " because no device type supports both of those nodes and the other nodes colocated with them.",
             debug_info(x), debug_info(y));
}

void PlaceFailures::cannot_merge_edge(NodeId source, NodeId destination, LinkKind kind, const MergeFailure& failure) {
  add(
      [&] {
        return invalid_argument(attach_node(
            cat("Nodes were connected by a reference or resource connection (requiring them to be on the same "
                "device), but the two nodes were assigned two different devices: ",
                colocation_text(source, destination, failure)),
            state_.graph.name(destination)));
      },
      [&] {
        return cat(node_line(destination), "an edge ties it to '", state_.graph.name(source),
                   "', but they cannot be together", conflict_text(state_, source, {source, destination, kind}));
      });
}

void PlaceFailures::cannot_colocate(NodeId node, NodeId representative, const MergeFailure& failure) {
  const Graph& g = state_.graph;
  add([&] { return invalid_argument(attach_node(colocation_text(node, representative, failure), g.name(node))); },
      [&] {
        return cat(node_line(node), "asks to be colocated with '", g.name(representative),
                   "', but they cannot be together",
                   conflict_text(state_, node, {representative, node, LinkKind::kColocation}));
      });
}

// --- while nodes are assigned ---

std::string PlaceFailures::no_candidate_text(NodeId node) const {
  const Graph& g = state_.graph;
  const Member& root = state_.groups.at(state_.groups.root(node));
  const std::string_view request = state_.requested_text(node);
  const NameId own = state_.requested_name(node).value_or(kNoName);
  if (state_.names.at(root.requested).empty()) {
    std::string inputs;
    for (DType t : g.type(node).input_types) append(inputs, inputs.empty() ? "" : ", ", dtype_tf_name(t));
    return cat("Node had no OpKernel registered to support this operation: Operation was ", g.op(node),
               " and inputs were [", inputs, "].\n", debug_info(node));
  }
  if (own != root.requested) {
    return cat("Could not satisfy explicit device specification '", request, "' because the node {{colocation_node ",
               g.name(node), "}} was colocated with a group of nodes that required incompatible device '",
               state_.names.text(root.requested), "'. All available devices [", all_devices_text(false), "]. ",
               debug_info(node));
  }
  const DeviceName& name = state_.names.at(own);
  if (state_.candidates.matching(name).empty()) {
    return cat("{{node ", g.name(node), "}} was explicitly assigned to ", request, " but available devices are [ ",
               all_devices_text(true), " ]. Make sure the device specification refers to a valid device.");
  }
  if (name.type) {
    return cat("Could not satisfy explicit device specification '", request, "' because no supported kernel for ",
               *name.type, " devices is available.", debug_info(node), "\nOp: ", g.op(node),
               "\nNode attrs: ", summarize_attrs(g.attrs(node)), "\nRegistered kernels:\n",
               registered_kernels_text(state_.kernels.registered(g.op(node))));
  }
  return cat("Could not satisfy explicit device specification '", request, debug_info(node));
}

void PlaceFailures::no_candidate(NodeId node) {
  const std::string_view name = state_.graph.name(node);
  const std::optional<NameId> request = state_.requested_name(node);
  if (request && state_.candidates.matching(state_.names.at(*request)).empty())
    first_without_device_ = std::min(first_without_device_, node);
  add(
      [&] {
        return invalid_argument(
            attach_node(cat("Cannot assign a device for operation ", name, ": ", no_candidate_text(node)), name));
      },
      [&] { return node_line(node) + no_candidate_line(node); });
}

std::string PlaceFailures::no_candidate_line(NodeId node) const {
  const NodeId root = state_.groups.root(node);
  if (state_.groups.alone(node)) {
    const std::string_view request = state_.requested_text(node);
    if (request.empty()) return "no device fits";
    if (state_.candidates.matching(state_.names.at(state_.groups.at(root).requested)).empty()) {
      const std::string type = state_.names.at(state_.groups.at(root).requested).type.value_or("");
      const std::optional<std::string> meant = device_of_other_words(request);
      return cat("asks for ", request, "; there is no such device",
                 meant ? cat("; did you mean '", *meant, "'?") : misspelt_type(type));
    }
    const NodeType& type = state_.graph.type(node);
    const std::optional<std::string>& wanted = state_.names.at(state_.groups.at(root).requested).type;
    return cat("asks for ", request, "; ", missing_kernel_text(*state_.file.ops, type, wanted.value_or("matching")));
  }
  const std::string conflict = conflict_text(state_, node, {node, node, LinkKind::kNone});
  return conflict.empty() ? "no device fits its group" : "its group cannot be anywhere" + conflict;
}

void PlaceFailures::cannot_pin(NodeId node, Status status) {
  add([&] { return status; }, [&] { return node_line(node) + status.message(); });
}

// --- Colocation Debug Info ---

std::string PlaceFailures::debug_info(NodeId node) const {
  const Graph& g = state_.graph;
  const NodeId root_id = state_.groups.root(node);
  const Member& root = state_.groups.at(root_id);
  const auto types_text = [this](TypesId id, std::string_view separator) {
    std::string out;
    for (const SupportedType& s : state_.lists.at(id)) {
      append(out, out.empty() ? std::string_view{} : separator, state_.lists.types()[s.type]);
    }
    return out;
  };
  std::map<std::string_view, TypesId> types_of_op;
  std::string members;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (state_.groups.root(id) != root_id) continue;
    types_of_op[g.op(id)] = state_.facts(id).types;
    append(members, "\n  ", g.name(id), " (", g.op(id), ") ", state_.requested_text(id));
    if (const DeviceId d = placement_.decisions[id].device; d != kNoDevice) {
      append(members, " framework assigned device=", state_.devices.at(d).name);
    }
  }
  int index = -1;
  if (root.pinned != kNoDevice) {
    const auto& used = state_.devices_in_use;
    index = static_cast<int>(std::find(used.begin(), used.end(), root.pinned) - used.begin()) + 1;
  }
  std::string out =
      cat("\nColocation Debug Info:\nColocation group had the following types and supported devices: \n"
          "Root Member(assigned_device_name_index_=",
          index, " requested_device_name_='", state_.names.text(root.requested), "' assigned_device_name_='",
          state_.names.text(root.assigned), "' resource_device_name_='", state_.names.text(root.resource),
          "' supported_device_types_=[", types_text(root.types, ", "), "] possible_devices_=[]");
  for (const auto& [op, types] : types_of_op) {
    append(out, '\n', op, ": ", types_text(types, " "), types == kNoTypes ? "" : " ");
  }
  append(out, "\n\nColocation members, user-requested devices, and framework assigned devices, if any:", members, '\n');
  return out;
}

}  // namespace emplace
