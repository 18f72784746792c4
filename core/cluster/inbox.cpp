#include "core/cluster/inbox.h"

#include <chrono>
#include <utility>

namespace emplace {
namespace {

constexpr auto kLook = std::chrono::milliseconds(10);  // how often a waiting step looks at the stop signal

constexpr uint64_t kStepsAhead = 1000;  // nobody is further: a step begins when all have ended the one before

}  // namespace

bool Inbox::file(uint64_t step, uint32_t copy, Piece piece) {
  std::lock_guard lock(mutex_);
  if (step <= ended_ || step > ended_ + kStepsAhead) return false;
  const auto taken = taken_.find(Key{step, copy});
  if (taken != taken_.end() && piece.iteration < taken->second) return false;
  const Key key{step, copy, piece.iteration};
  if (!pieces_.try_emplace(key, std::move(piece)).second) return false;
  arrived_.notify_all();
  return true;
}

Result<Piece> Inbox::take(const Key& key, const StopSignal& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (key.step <= aborted_) return Status(Code::kCancelled, "the step failed on another task");
    if (const auto found = pieces_.find(key); found != pieces_.end()) {
      Piece piece = std::move(found->second);
      pieces_.erase(found);
      taken_[Key{key.step, key.copy}] = key.iteration + 1;
      return piece;
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
  const auto is_over = [&](const auto& entry) { return entry.first.step <= ended_; };
  std::erase_if(pieces_, is_over);
  std::erase_if(taken_, is_over);
}

size_t Inbox::size() const {
  std::lock_guard lock(mutex_);
  return pieces_.size();
}

}  // namespace emplace
