/// TaskDirectory: all tasks of a server's cluster, by name: where they are, and the way to each. Where a server knows
/// only the coordinator's address, it has to join first.
#pragma once

#include <atomic>
#include <string>

#include "core/cluster/cluster_spec.h"
#include "core/cluster/membership.h"
#include "core/cluster/task_session.h"
#include "core/cluster/transport.h"

namespace emplace {

class TaskDirectory {
 public:
  /// `transport` must outlive it. `complete`: all addresses are known.
  TaskDirectory(Transport& transport, ClusterSpec cluster, ClusterTask self, const TransportOptions& options,
                bool complete);

  /// The tasks stay as they are from now on: what is below may be read by any thread.
  bool complete() const { return complete_; }
  const ClusterSpec& cluster() const { return cluster_; }
  const Peers& peers() const { return peers_; }  // all other tasks
  /// Of the server's own task; empty: not known.
  std::string own_address() const;

  /// `own`: of the server's task. Returns when all tasks are there, else as Membership says.
  Status join(const ClusterTask& coordinator, message::Member own, const Membership::Patience& patience);
  /// At the coordinator: another task asks, and hears of all once they are there.
  Result<message::Members> add(const message::Member& member, const std::string& version);
  /// Nobody waits any longer.
  void stop() { stopped_ = true; }

 private:
  void make_peers();

  Transport& transport_;
  const ClusterTask self_;
  const TransportOptions options_;
  Membership membership_;
  ClusterSpec cluster_;
  Peers peers_;
  std::atomic<bool> complete_ = false, stopped_ = false;
};

}  // namespace emplace
