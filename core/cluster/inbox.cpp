#include "core/cluster/inbox.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace emplace {
namespace {

// How often a waiting step looks at the stop signal: less and less, or a thousand that wait would be kept busy by it.
// Who aborts a step wakes it.
constexpr auto kLook = std::chrono::milliseconds(10), kLongestLook = std::chrono::milliseconds(80);
constexpr int64_t kEachBytes = 256;  // of a piece without a value, about

}  // namespace

int64_t Inbox::Filed::bytes() const {
  int64_t sum = kEachBytes;
  if (!piece.value.valid()) return sum;
  sum += static_cast<int64_t>(piece.value.size_bytes());
  if (piece.value.dtype() != DType::kString) return sum;
  for (const std::string& text : piece.value.flat<std::string>()) sum += static_cast<int64_t>(text.size());
  return sum;
}

void Inbox::count(const Filed& filed, int sign) {
  if (filed.from >= waiting_bytes_.size()) waiting_bytes_.resize(filed.from + size_t{1});
  waiting_bytes_[filed.from] += sign * filed.bytes();
}

bool Inbox::awaits(uint64_t step) const {
  std::lock_guard lock(mutex_);
  return is_awaited(step) && step > aborted_;
}

bool Inbox::file(uint64_t step, uint32_t copy, Piece piece, TaskId from) {
  std::lock_guard lock(mutex_);
  const bool is_new = file_one(step, copy, std::move(piece), from);
  if (is_new) changed_.notify_all();
  return is_new;
}

void Inbox::file_all(uint64_t step, std::vector<Arrived> pieces, TaskId from) {
  std::lock_guard lock(mutex_);
  for (Arrived& arrived : pieces) file_one(step, arrived.copy, std::move(arrived.piece), from);
  changed_.notify_all();
}

bool Inbox::file_one(uint64_t step, uint32_t copy, Piece piece, TaskId from) {
  if (!is_awaited(step)) return false;
  const auto taken = taken_.find(Key{step, copy});
  if (taken != taken_.end() && piece.iteration < taken->second) return false;
  const Key key{step, copy, piece.iteration};
  const auto [at, is_new] = pieces_.try_emplace(key, Filed{std::move(piece), from});
  if (is_new) count(at->second, 1);
  return is_new;
}

Result<Piece> Inbox::take(const Key& key, const StopSignal& stop) {
  std::unique_lock lock(mutex_);
  for (auto look = kLook;; look = std::min(look * 2, kLongestLook)) {
    if (key.step <= aborted_) return Status(Code::kCancelled, "the step failed on another task");
    if (const auto found = pieces_.find(key); found != pieces_.end()) {
      const bool was_roomy = is_roomy(found->second.from);
      count(found->second, -1);
      if (!was_roomy && is_roomy(found->second.from)) changed_.notify_all();
      Piece piece = std::move(found->second.piece);
      pieces_.erase(found);
      taken_[Key{key.step, key.copy}] = key.iteration + 1;
      return piece;
    }
    if (stop.asked()) return stop.status();
    changed_.wait_for(lock, look);
  }
}

void Inbox::abort(uint64_t step) {
  std::lock_guard lock(mutex_);
  aborted_ = std::max(aborted_, step);
  changed_.notify_all();
}

bool Inbox::aborted(uint64_t step) const {
  std::lock_guard lock(mutex_);
  return step <= aborted_;
}

void Inbox::end(uint64_t step) {
  std::lock_guard lock(mutex_);
  ended_ = std::max(ended_, step);
  const auto is_over = [&](const auto& entry) { return entry.first.step <= ended_; };
  for (const auto& entry : pieces_) {
    if (is_over(entry)) count(entry.second, -1);
  }
  std::erase_if(pieces_, is_over);
  std::erase_if(taken_, is_over);
  changed_.notify_all();
}

bool Inbox::has_room(TaskId from) const {
  std::lock_guard lock(mutex_);
  return is_roomy(from);
}

Status Inbox::wait_for_room(TaskId from, uint64_t step, const StopSignal& stop) {
  std::unique_lock lock(mutex_);
  while (!is_roomy(from) && is_awaited(step)) {
    if (step <= aborted_) return Status(Code::kCancelled, "the step failed on another task");
    if (stop.asked()) return stop.status();
    changed_.wait_for(lock, kLook);
  }
  return ok_status();
}

size_t Inbox::size() const {
  std::lock_guard lock(mutex_);
  return pieces_.size();
}

}  // namespace emplace
