/// Cluster: the tasks that run a graph, if not this process alone: their devices, and sessions whose steps run on all
/// of them. They are behind servers (remote_session.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cluster/cluster_spec.h"
#include "core/cluster/protocol.h"
#include "core/run/session.h"

namespace emplace {

/// A process's devices under the name of its task: "/job:worker/replica:0/task:1/device:CPU:0".
DeviceSet under_task(DeviceSet devices, const ClusterTask& self);

class Cluster {
 public:
  virtual ~Cluster() = default;

  /// The own task of sessions, or their master, first.
  const message::TaskList& tasks() const { return tasks_; }
  /// Of all tasks, the first one's first. No graph runs on them but through create_session().
  DeviceSet devices() const;
  /// Why GPUs of several tasks cannot reduce together; empty: they can.
  std::string no_collectives() const;
  /// Of the last step of the last session: what each task sent to others, and got.
  const std::vector<message::TrafficMessage>& traffic() const { return *traffic_; }

  /// As Session::create(), for a placement on devices(). Unimplemented: an observer, a trace, steps with feeds of their
  /// own.
  virtual Result<std::unique_ptr<Session>> create_session(const GraphFile& file, const DeviceSet& devices,
                                                          const Placement& placement,
                                                          const SessionOptions& options) = 0;

 protected:
  message::TaskList tasks_;
  std::shared_ptr<std::vector<message::TrafficMessage>> traffic_ =
      std::make_shared<std::vector<message::TrafficMessage>>();  // shared with sessions
};

}  // namespace emplace
