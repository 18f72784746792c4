#include "core/cluster/session_holds.h"

#include <utility>

namespace emplace {

void SessionHolds::add(IncomingRequest* request, Held held) {
  std::lock_guard lock(mutex_);
  held_[request] = held;
  if (const auto awaited = awaited_.find({held.session, held.whole}); awaited != awaited_.end()) awaited->second = true;
  changed_.notify_all();
}

std::optional<SessionHolds::Held> SessionHolds::remove(IncomingRequest* request) {
  std::lock_guard lock(mutex_);
  const auto found = held_.find(request);
  if (found == held_.end()) return std::nullopt;
  const Held held = found->second;
  held_.erase(found);
  return held;
}

bool SessionHolds::wait_for(const Held& wanted, std::chrono::milliseconds time) {
  const std::pair key(wanted.session, wanted.whole);
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, time, [&] { return closed_ || awaited_[key]; });
  awaited_.erase(key);
  return came;
}

void SessionHolds::await(const Held& wanted) {
  std::lock_guard lock(mutex_);
  awaited_.try_emplace({wanted.session, wanted.whole}, false);
}

std::vector<IncomingRequest*> SessionHolds::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  std::vector<IncomingRequest*> all;
  for (const auto& [request, held] : held_) all.push_back(request);
  held_.clear();
  return all;
}

}  // namespace emplace
