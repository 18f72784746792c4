#include "core/cluster/inbox.h"

#include <chrono>
#include <utility>

namespace emplace {
namespace {

constexpr auto kLook = std::chrono::milliseconds(10);  // how often a waiting step looks at the stop signal

}  // namespace

bool Inbox::file(uint64_t step, uint32_t copy, Piece piece) {
  std::lock_guard lock(mutex_);
  if (step <= ended_) return false;
  const auto [it, is_new] = entries_.try_emplace(Key{step, copy});
  if (!is_new) return false;
  it->second.piece = std::move(piece);
  arrived_.notify_all();
  return true;
}

Result<Piece> Inbox::take(uint64_t step, uint32_t copy, const StopSignal& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (step <= aborted_) return Status(Code::kCancelled, "the step failed on another task");
    if (const auto found = entries_.find(Key{step, copy}); found != entries_.end() && !found->second.taken) {
      found->second.taken = true;
      return std::exchange(found->second.piece, Piece());
    }
    if (stop.asked()) return stop.status();
    arrived_.wait_for(lock, kLook);
  }
}

void Inbox::abort(uint64_t step) {
  std::lock_guard lock(mutex_);
  aborted_ = std::max(aborted_, step);
  arrived_.notify_all();
}

bool Inbox::aborted(uint64_t step) const {
  std::lock_guard lock(mutex_);
  return step <= aborted_;
}

void Inbox::end(uint64_t step) {
  std::lock_guard lock(mutex_);
  ended_ = std::max(ended_, step);
  std::erase_if(entries_, [&](const auto& entry) { return entry.first.step <= ended_; });
}

size_t Inbox::size() const {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [key, entry] : entries_) count += !entry.taken;
  return count;
}

}  // namespace emplace
