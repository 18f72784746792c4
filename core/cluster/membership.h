/// Membership: the tasks of a cluster whose addresses only each of them knows, such as the ranks of a launcher. They
/// tell the coordinator, and hear of all others from it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "core/cluster/cluster_spec.h"
#include "core/cluster/peer.h"
#include "core/cluster/protocol.h"

namespace emplace {

/// Do both ends speak the same? FailedPrecondition: what each is. `version`, `own_version`: "emplace 0.4.1".
Status same_version(const std::string& task, int protocol, const std::string& version, const std::string& own_version);

/// Thread-safe.
class Membership {
 public:
  /// `cluster`: which tasks there are.
  explicit Membership(const ClusterSpec& cluster);

  /// At the coordinator. FailedPrecondition: of another version, no task of the cluster, or one that is there already.
  Status add(const message::Member& member, const std::string& version);
  struct Patience {
    const std::atomic<bool>& stop;
    double timeout_s = 0;  // 0: no bound
  };
  /// Waits until all tasks are there. Cancelled: `stop` was set; DeadlineExceeded, blamed on the peers: some are not.
  Result<message::Members> wait_for_all(const Patience& patience);
  /// At all others: tells the coordinator, which may not be there yet, and waits for its answer. Errors as above.
  static Result<message::Members> join(Peer& coordinator, const message::Member& own, const Patience& patience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, message::Member> members_;  // by task; guarded by mutex_; without an address: not there
  size_t missing_ = 0;                              // guarded by mutex_
};

/// The cluster with the addresses of these.
ClusterSpec with_addresses(ClusterSpec cluster, const message::Members& members);

}  // namespace emplace
