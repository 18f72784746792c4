/// Replication: on which devices a graph is trained at once, and how their gradients meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/device/device.h"
#include "core/graph/graph.h"

namespace emplace {

enum class Strategy : uint8_t {
  kNone,
  kMirrored,  // a copy of each variable a replica, all updated alike
  kPsSync,    // variables in one place, one update from the mean gradient
  kPsAsync,   // variables in one place, each tower updates them when it is ready
};

struct Replication {
  Strategy strategy = Strategy::kNone;
  std::vector<std::string> replicas;  // "GPU:0" or any device name; empty: every GPU; of a cluster, see below
  std::string ps;                     // where the ps strategies keep variables; empty: CPU:0, or the ps tasks in turn
  int64_t max_staleness = -1;         // of kPsAsync: updates by others between reading and updating; -1: no bound
  /// Of kMirrored on several tasks: bytes of gradients that meet together. Smaller ones are sooner on the network.
  std::optional<int64_t> bucket_bytes;
  static constexpr int64_t kDefaultBucketBytes = 4 * kMiB;
  bool nccl = false;  // of kMirrored: the gradients meet by NcclAllReduce. Decided by resolve_replication()
  std::vector<std::string> parameter_devices;  // variables go to them in turn. Made by resolve_replication() of `ps`
};

/// "none", "mirrored", "ps-sync", "ps-async".
Result<Strategy> parse_strategy(std::string_view name);

/// InvalidArgument: a member is set that the strategy has no use for.
Status check_replication(const Replication& replication);

/// Names become requests ("/device:GPU:0"), no replicas become all GPUs. InvalidArgument: a name that is not a device
/// or stands twice, fewer than one replica. With `allow_soft_placement` a device may be missing: nodes that ask for it
/// go elsewhere. Several replicas of kMirrored, each on a card of its own, use NCCL where it is there; else `notes`
/// gets what TensorFlow's MirroredStrategy warns of.
///
/// On several tasks (DeviceSet::own_task) devices have full names, "/job:worker/task:1" is that task's CPU:0, no
/// replicas become the GPUs of each task, or its CPU where it has none, and no `ps` becomes all tasks of the job `ps`;
/// those have no replicas.
/// `no_collectives`: why GPUs of several tasks have no NCCL; empty: they have.
Status resolve_replication(const DeviceSet& devices, bool allow_soft_placement, Replication& replication,
                           std::vector<std::string>& notes, const std::string& no_collectives = {});

/// What MirroredStrategy tells beside that warning where several replicas are logical GPUs of one card; else nothing.
/// After resolve_replication().
std::vector<std::string> reduction_lines(const DeviceSet& devices, const Replication& replication);

/// A step with loops has no place for NcclAllReduce (core/partition/meetings.h): then the gradients meet on one device,
/// and a note says so.
void avoid_collectives(const Graph& graph, Replication& replication, std::vector<std::string>& notes);

}  // namespace emplace
