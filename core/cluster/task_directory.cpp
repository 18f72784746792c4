#include "core/cluster/task_directory.h"

#include <utility>

namespace emplace {

TaskDirectory::TaskDirectory(Transport& transport, ClusterSpec cluster, ClusterTask self,
                             const TransportOptions& options, bool complete)
    : transport_(transport),
      self_(std::move(self)),
      options_(options),
      membership_(cluster),
      cluster_(std::move(cluster)) {
  if (complete) make_peers();
}

void TaskDirectory::make_peers() {
  for (const auto& [job, tasks] : cluster_.jobs) {
    for (const auto& [index, address] : tasks) {
      const std::string name = ClusterTask{job, index}.name();
      if (name != self_.name()) peers_[name] = std::make_shared<Peer>(transport_, name, address, options_);
    }
  }
  complete_ = true;
}

std::string TaskDirectory::own_address() const {
  const Result<std::string> address = address_of(cluster_, self_);
  return address.ok() ? *address : std::string();
}

Status TaskDirectory::join(const ClusterTask& coordinator, message::Member own, const Membership::Patience& patience) {
  ASSIGN_OR_RETURN(const std::string address, address_of(cluster_, coordinator));
  const bool coordinates = coordinator == self_;
  if (coordinates) {
    own.address = address;
    RETURN_IF_ERROR(membership_.add(own, own.version));
  }
  Peer peer(transport_, coordinator.name(), address, options_);
  ASSIGN_OR_RETURN(const message::Members all,
                   coordinates ? membership_.wait_for_all(patience) : Membership::join(peer, own, patience));
  cluster_ = with_addresses(std::move(cluster_), all);
  make_peers();
  return ok_status();
}

Result<message::Members> TaskDirectory::add(const message::Member& member, const std::string& version) {
  RETURN_IF_ERROR(membership_.add(member, version));
  return membership_.wait_for_all({stopped_, 0});
}

}  // namespace emplace
