#include "core/cluster/membership.h"

#include <chrono>
#include <thread>

namespace emplace {
namespace {

Status stopped() { return Status(Code::kCancelled, "stopped before all tasks of the cluster were there"); }

}  // namespace

Membership::Membership(const ClusterSpec& cluster) {
  for (const auto& [job, tasks] : cluster.jobs) {
    for (const auto& [index, address] : tasks) members_[ClusterTask{job, index}.name()];
  }
  missing_ = members_.size();
}

Status Membership::add(const message::Member& member, const std::string& version) {
  if (member.protocol != message::kProtocol || member.version != version) {
    return failed_precondition(cat("protocol ", message::kProtocol, " here (", version, "), ", member.protocol, " at ",
                                   member.name, " (", member.version, ")"));
  }
  std::lock_guard lock(mutex_);
  const auto found = members_.find(member.name);
  if (found == members_.end()) return failed_precondition(cat(member.name, " is no task of this cluster"));
  message::Member& known = found->second;
  if (known.address == member.address) return ok_status();  // it asks again
  if (!known.address.empty())
    return failed_precondition(cat(member.name, " is at ", known.address, " already, not at ", member.address));
  known = member;
  if (--missing_ == 0) changed_.notify_all();
  return ok_status();
}

Result<message::Members> Membership::wait_for_all(const std::atomic<bool>& stop) {
  constexpr std::chrono::milliseconds kLook{50};
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [&] { return missing_ == 0; })) {
    if (stop) return stopped();
  }
  message::Members all;
  for (const auto& [name, member] : members_) all.members.push_back(member);
  return all;
}

Result<message::Members> Membership::join(Peer& coordinator, const message::Member& own,
                                          const std::atomic<bool>& stop) {
  constexpr std::chrono::milliseconds kAgain{100};
  for (;;) {
    ASSIGN_OR_RETURN(std::string body, message::write(own));
    const Answer answer = coordinator.ask(message::method::kJoinCluster, std::move(body), &stop);
    if (answer.code == 0) return message::read<message::Members>(answer.body);
    if (stop) return stopped();
    if (answer.code != static_cast<int>(Code::kUnavailable))
      return Status(static_cast<Code>(answer.code), answer.message);
    std::this_thread::sleep_for(kAgain);
  }
}

ClusterSpec with_addresses(ClusterSpec cluster, const message::Members& members) {
  for (auto& [job, tasks] : cluster.jobs) {
    for (auto& [index, address] : tasks) {
      for (const message::Member& member : members.members) {
        if (member.name == ClusterTask{job, index}.name()) address = member.address;
      }
    }
  }
  return cluster;
}

}  // namespace emplace
