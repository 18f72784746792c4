/// A cluster from outside: its devices, and sessions whose master is one of its tasks (tf.compat.v1.Session(target)).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/cluster/cluster.h"
#include "core/cluster/peer.h"

namespace emplace {

class RemoteCluster final : public Cluster {
 public:
  /// `target`: "grpc://localhost:2222", as --master has it; InvalidArgument if it is none. Asks nobody yet.
  static Result<std::shared_ptr<RemoteCluster>> open(Transport& transport, const std::string& target,
                                                     const TransportOptions& options);

  /// Asks the master for all tasks and waits for those that are not there, so long, saying so with each line. Blamed on
  /// the peer: nobody is there, or not all are. `starting`: the master is being started, and is waited for, too.
  Status connect(double timeout_s, bool starting, const std::atomic<bool>* stop,
                 const std::function<void(const std::string&)>& say);
  /// Goes on without the tasks that are gone or have restarted since connect(); sessions from now on are on the others.
  /// Returns how many they are. An error: the master is gone, too.
  Result<size_t> forget_lost_tasks();
  /// Goes on with all tasks that are there now, also those that were forgotten or have restarted. Returns how many they
  /// are. An error: as above.
  Result<size_t> take_tasks_anew();
  /// REQUIRES: connect(), here and of Cluster's members.
  Result<std::unique_ptr<Session>> create_session(const GraphFile& file, const DeviceSet& devices,
                                                  const Placement& placement, const SessionOptions& options) override;

 private:
  RemoteCluster(Transport& transport, const std::string& target, const std::string& address,
                const TransportOptions& options)
      : target_(target), options_(options), transport_(transport), master_(new Peer(transport, "", address, options)) {}

  std::string why_not(const Answer& answer) const;

  const std::string target_;
  const TransportOptions options_;
  Transport& transport_;
  std::shared_ptr<Peer> master_;
};

}  // namespace emplace
