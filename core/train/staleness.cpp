#include "core/train/staleness.h"

#include <algorithm>

namespace emplace {

// All that run may end before a new step does, and the new one before any of those.
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

}  // namespace emplace
