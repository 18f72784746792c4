#include "core/cluster/membership.h"

#include <chrono>
#include <limits>
#include <thread>

namespace emplace {
namespace {

Status stopped() { return Status(Code::kCancelled, "stopped before all tasks of the cluster were there"); }

class Waiting {
 public:
  explicit Waiting(const Membership::Patience& patience) : timeout_s_(patience.timeout_s) {}
  double left_s() const {
    if (timeout_s_ <= 0) return std::numeric_limits<double>::infinity();
    return timeout_s_ - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  Status in_vain(const std::string& absent) const {
    return Status(Code::kDeadlineExceeded, cat(absent, " did not join within ", timeout_s_, " s")).blamed(kBlamePeer);
  }

 private:
  const double timeout_s_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Status same_version(const std::string& task, int protocol, const std::string& version, const std::string& own_version) {
  if (protocol != message::kProtocol) {
    return failed_precondition(cat("protocol ", message::kProtocol, " here (", own_version, "), ", protocol, " at ",
                                   task, " (", version, ")"));
  }
  if (version == own_version) return ok_status();
  return failed_precondition(cat(own_version, " here, ", version, " at ", task, "; all tasks are of the same version"));
}

Membership::Membership(const ClusterSpec& cluster) {
  for (const auto& [job, tasks] : cluster.jobs) {
    for (const auto& [index, address] : tasks) members_[ClusterTask{job, index}.name()];
  }
  missing_ = members_.size();
}

Status Membership::add(const message::Member& member, const std::string& version) {
  RETURN_IF_ERROR(same_version(member.name, member.protocol, member.version, version));
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

Result<message::Members> Membership::wait_for_all(const Patience& patience) {
  constexpr std::chrono::milliseconds kLook{50};
  const Waiting waiting(patience);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [&] { return missing_ == 0; })) {
    if (patience.stop) return stopped();
    if (waiting.left_s() > 0) continue;
    std::string absent;
    for (const auto& [name, member] : members_) {
      if (member.address.empty()) append(absent, absent.empty() ? "" : ", ", name);
    }
    return waiting.in_vain(absent);
  }
  message::Members all;
  for (const auto& [name, member] : members_) all.members.push_back(member);
  return all;
}

Result<message::Members> Membership::join(Peer& coordinator, const message::Member& own, const Patience& patience) {
  constexpr std::chrono::milliseconds kAgain{100};
  const Waiting waiting(patience);
  for (bool reached = false;;) {
    ASSIGN_OR_RETURN(std::string body, message::write(own));
    const double left_s = waiting.left_s();
    if (left_s <= 0) return waiting.in_vain(reached ? "some task of the cluster" : coordinator.text());
    const Answer answer = coordinator.ask(message::method::kJoinCluster, std::move(body), &patience.stop,
                                          patience.timeout_s > 0 ? left_s : 0);
    if (answer.code == 0) return message::read<message::Members>(answer.body);
    if (patience.stop) return stopped();
    const auto code = static_cast<Code>(answer.code);
    reached = code == Code::kDeadlineExceeded;
    if (code != Code::kUnavailable && !reached) return Status(code, answer.message);
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
