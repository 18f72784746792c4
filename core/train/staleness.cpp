#include "core/train/staleness.h"

#include <algorithm>

namespace emplace {

// The worst cases: every running step updates before the new one does, or the new one updates before each of them.
bool StalenessGate::may_begin() const {
  if (bound_ < 0) return true;
  auto may_wait_for_one_more = [&](int64_t begun) {
    return begun == kIdle || (updates_ - begun) + (running_ - 1) + 1 <= bound_;
  };
  return running_ <= bound_ && std::all_of(begun_.begin(), begun_.end(), may_wait_for_one_more);
}

void StalenessGate::begin(size_t tower) {
  std::lock_guard in_line(line_);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return may_begin(); });
  begun_[tower] = updates_;
  ++running_;
}

void StalenessGate::end(size_t tower) {
  std::lock_guard lock(mutex_);
  ++histogram_[updates_ - begun_[tower]];
  begun_[tower] = kIdle;
  ++updates_;
  ++steps_[tower];
  --running_;
  changed_.notify_all();
}

void StalenessGate::give_up(size_t tower) {
  std::lock_guard lock(mutex_);
  begun_[tower] = kIdle;
  --running_;
  changed_.notify_all();
}

}  // namespace emplace
