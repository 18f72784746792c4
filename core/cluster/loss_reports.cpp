#include "core/cluster/loss_reports.h"

#include <utility>

namespace emplace {

void LossReports::next(const void* who, Told told) {
  std::optional<Waiting> before;
  std::optional<Loss> loss;
  {
    std::lock_guard lock(mutex_);
    before = std::exchange(waiting_, std::nullopt);
    loss = std::exchange(untold_, std::nullopt);
    if (closed_ && !loss) loss = Loss{0, ok_status()};
    if (!loss) waiting_ = Waiting{who, std::move(told)};
  }
  if (before) before->told(0, ok_status());
  if (loss) told(loss->step, loss->why);
}

void LossReports::tell(uint64_t step, const Status& why) {
  Waiting waiting;
  {
    std::lock_guard lock(mutex_);
    if (!waiting_) {
      if (!untold_ || untold_->step < step) untold_ = Loss{step, why};
      return;
    }
    waiting = *std::exchange(waiting_, std::nullopt);
  }
  waiting.told(step, why);
}

void LossReports::let_go(const void* who) {
  Waiting waiting;
  {
    std::lock_guard lock(mutex_);
    if (!waiting_ || waiting_->who != who) return;
    waiting = *std::exchange(waiting_, std::nullopt);
  }
  waiting.told(0, ok_status());
}

void LossReports::close() {
  std::optional<Waiting> waiting;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    waiting = std::exchange(waiting_, std::nullopt);
  }
  if (waiting) waiting->told(0, ok_status());
}

}  // namespace emplace
