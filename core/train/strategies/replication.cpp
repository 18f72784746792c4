#include "core/train/strategies/replication.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/base/cat.h"
#include "core/base/suggest.h"
#include "core/device/device_name.h"
#include "core/device/gpu.h"

namespace emplace {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"none", "mirrored", "ps-sync", "ps-async"};
constexpr std::string_view kParameterJob = "ps";

bool is_cluster(const DeviceSet& devices) { return !devices.own_task.empty(); }

std::string short_name(const DeviceSet& devices, DeviceId d) {
  const DeviceName& name = devices.at(d).parsed;
  return is_cluster(devices) ? devices.at(d).name : cat(*name.type, ":", *name.id);
}

/// What is written as "GPU:0", "/gpu:0" or "/job:worker/task:1".
std::optional<DeviceName> parse_request(const DeviceSet& devices, std::string_view name, std::string& request) {
  const bool legacy = name.starts_with("cpu:") || name.starts_with("gpu:");
  request = name.starts_with('/') ? std::string(name) : cat(legacy ? "/" : "/device:", name);
  std::optional<DeviceName> parsed = DeviceName::parse(request);
  if (parsed && is_cluster(devices) && parsed->job && parsed->task && !parsed->type) {
    parsed->type = "CPU", parsed->id = 0;
    request = parsed->to_string();
  }
  return parsed && parsed->type && parsed->id ? parsed : std::nullopt;
}

/// The request and, in `found`, the device that it means: kNoDevice if it is missing and may be.
Result<std::string> resolve(const DeviceSet& devices, std::string_view name, std::string_view flag, bool may_be_missing,
                            DeviceId& found) {
  std::string request;
  const std::optional<DeviceName> parsed = parse_request(devices, name, request);
  if (!parsed) return invalid_argument(cat("--", flag, ": '", name, "' is not a device; write GPU:0"));
  std::string have;
  for (DeviceId d = 0; d < devices.size(); ++d) {
    const DeviceName& device = devices.at(d).parsed;
    const bool fits =
        is_cluster(devices) ? parsed->matches(device) : device.type == parsed->type && device.id == parsed->id;
    if (fits) {
      found = d;
      return is_cluster(devices) ? devices.at(d).name : request;
    }
    append(have, have.empty() ? "" : ", ", short_name(devices, d));
  }
  if (may_be_missing) return found = kNoDevice, request;
  return invalid_argument(cat("--", flag, ": there is no device '", name, "'; there are ", have,
                              "; --allow-soft-placement runs its nodes elsewhere"));
}

/// Every GPU; on several tasks, of those that are no parameter servers, and the CPUs of tasks without any.
std::vector<std::string> default_replicas(const DeviceSet& devices) {
  std::vector<std::string> out;
  const auto has_gpu = [&](const std::string& task) {
    return std::any_of(devices.devices.begin(), devices.devices.end(),
                       [&](const Device& d) { return d.type == "GPU" && d.parsed.task_name() == task; });
  };
  for (DeviceId d = 0; d < devices.size(); ++d) {
    const DeviceName& name = devices.at(d).parsed;
    const bool gpu = name.type == "GPU";
    const bool only_cpu = is_cluster(devices) && name.type == "CPU" && name.id == 0 && !has_gpu(name.task_name());
    if ((gpu || only_cpu) && !(is_cluster(devices) && name.job == kParameterJob)) out.push_back(short_name(devices, d));
  }
  return out;
}

/// CPU:0; on several tasks, that of each parameter server.
std::vector<std::string> default_parameter_devices(const DeviceSet& devices) {
  std::vector<std::string> out;
  for (const Device& d : devices.devices) {
    if (is_cluster(devices) && d.parsed.job == kParameterJob && d.type == "CPU" && d.parsed.id == 0)
      out.push_back(d.name);
  }
  if (out.empty()) out.push_back("CPU:0");
  return out;
}

/// Do some stand on one card?
bool has_logical_gpus(const DeviceSet& devices) {
  std::map<int, int> logical;  // GPUs by card
  for (const Device& d : devices.devices) {
    if (d.type == "GPU" && d.physical_gpu >= 0) ++logical[d.physical_gpu];
  }
  return std::any_of(logical.begin(), logical.end(), [](const auto& entry) { return entry.second > 1; });
}

/// What cross_device_ops.select_cross_device_ops() decides for these devices: NcclAllReduce or not, and what it warns
/// of.
bool choose_collectives(const DeviceSet& devices, const std::vector<DeviceId>& replicas,
                        const std::string& no_collectives, std::vector<std::string>& notes) {
  if (has_logical_gpus(devices)) {
    notes.push_back("NCCL is not supported when using virtual GPUs, fallingback to reduction to one device");
  }
  if (std::any_of(replicas.begin(), replicas.end(),
                  [&](DeviceId d) { return d == kNoDevice || devices.at(d).type != "GPU"; })) {
    notes.push_back("There are non-GPU devices in `tf.distribute.Strategy`, not using nccl allreduce.");
  }
  if (!notes.empty()) return false;
  const bool cuda = std::all_of(replicas.begin(), replicas.end(),
                                [&](DeviceId d) { return devices.at(d).kind == DeviceKind::kCuda; });
  std::string why = no_collectives;
  if (cuda && !is_cluster(devices)) why = devices.gpus->collectives().message();
  if (cuda && why.empty()) return true;
  notes.push_back(cat("Nccl kernel is not found, not using nccl allreduce.", why.empty() ? "" : cat(" (", why, ")")));
  return false;
}

}  // namespace

Result<Strategy> parse_strategy(std::string_view name) {
  auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return static_cast<Strategy>(found - kNames.begin());
  Suggestion suggestion(name);
  for (std::string_view known : kNames) suggestion.offer(known);
  return invalid_argument(
      cat("unknown strategy '", name, "'; ",
          suggestion.text().empty() ? "there are none, mirrored, ps-sync, ps-async" : suggestion.text()));
}

Status check_replication(const Replication& replication) {
  const bool parameter_device = replication.strategy == Strategy::kPsSync || replication.strategy == Strategy::kPsAsync;
  if (replication.strategy == Strategy::kNone && !replication.replicas.empty())
    return invalid_argument("--replicas: name a --strategy for them");
  if (!parameter_device && !replication.ps.empty())
    return invalid_argument("--ps: only --strategy ps-sync and ps-async keep variables in one place");
  if (replication.strategy != Strategy::kPsAsync && replication.max_staleness >= 0) {
    return invalid_argument("--max-staleness: only the towers of --strategy ps-async miss updates");
  }
  return ok_status();
}

Status resolve_replication(const DeviceSet& devices, bool allow_soft_placement, Replication& replication,
                           std::vector<std::string>& notes, const std::string& no_collectives) {
  if (replication.strategy == Strategy::kNone) return ok_status();
  if (replication.replicas.empty()) replication.replicas = default_replicas(devices);
  if (replication.replicas.empty()) {
    return invalid_argument(is_cluster(devices) ? "all tasks are parameter servers: nobody trains"
                                                : "there is no GPU to replicate on; --replicas names devices, "
                                                  "--simulate-gpus N makes some");
  }
  std::vector<DeviceId> found;
  for (std::string& name : replication.replicas) {
    DeviceId device = kNoDevice;
    ASSIGN_OR_RETURN(std::string request, resolve(devices, name, "replicas", allow_soft_placement, device));
    const auto same = [&](const std::string& other) { return DeviceName::parse(other) == DeviceName::parse(request); };
    const bool twice = device == kNoDevice
                           ? std::any_of(replication.replicas.data(), replication.replicas.data() + found.size(), same)
                           : std::find(found.begin(), found.end(), device) != found.end();
    if (twice) return invalid_argument(cat("--replicas: '", request, "' stands twice"));
    name = std::move(request);
    found.push_back(device);
  }
  const std::vector<std::string> ps =
      replication.ps.empty() ? default_parameter_devices(devices) : std::vector<std::string>{replication.ps};
  for (const std::string& name : ps) {
    DeviceId device = kNoDevice;
    ASSIGN_OR_RETURN(std::string request, resolve(devices, name, "ps", allow_soft_placement, device));
    replication.parameter_devices.push_back(std::move(request));
  }
  // Replicas of several tasks are their GPUs, or else their CPUs, of which nothing is to be told.
  const bool asks = !is_cluster(devices) || std::all_of(found.begin(), found.end(), [&](DeviceId d) {
    return d != kNoDevice && devices.at(d).kind == DeviceKind::kCuda;
  });
  if (replication.strategy == Strategy::kMirrored && found.size() > 1 && asks)
    replication.nccl = choose_collectives(devices, found, no_collectives, notes);
  return ok_status();
}

std::vector<std::string> reduction_lines(const DeviceSet& devices, const Replication& replication) {
  if (replication.strategy != Strategy::kMirrored || replication.replicas.size() < 2 || !has_logical_gpus(devices))
    return {};
  std::string first, all;
  for (const std::string& replica : replication.replicas) {
    DeviceName name = devices.at(0).parsed;
    name.ensure_specification(*DeviceName::parse(replica));
    if (first.empty()) first = name.to_string();
    append(all, all.empty() ? "'" : ", '", name.to_string(), "'");
  }
  return {cat("Using MirroredStrategy with devices (", all, ")"),
          cat("Reduce to ", first, " then broadcast to (", all, ").")};
}

void avoid_collectives(const Graph& graph, Replication& replication, std::vector<std::string>& notes) {
  if (!replication.nccl) return;
  for (NodeId id = 0; id < graph.num_nodes() && replication.nccl; ++id) {
    if (graph.traits(id).control == Control::kEnter) replication.nccl = false;
  }
  if (!replication.nccl)
    notes.push_back("NCCL is not supported in a step with loops, falling back to reduction to one device");
}

}  // namespace emplace
