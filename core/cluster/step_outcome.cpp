#include "core/cluster/step_outcome.h"

#include "core/base/cat.h"
#include "core/base/exit_code.h"

namespace emplace {

void StepOutcome::failed(const std::string& task, const Status& status) {
  std::lock_guard lock(mutex_);
  if (!cause_.ok()) return;
  if (task.empty()) {
    cause_ = status;
    return;
  }
  const bool late = status.code() == Code::kDeadlineExceeded;
  const bool waited = late && status.message().find("has not come from") != std::string::npos;
  cause_ = Status(status.code(), late ? cat(status.message(), waited ? " to " : "", waited ? task : "")
                                      : cat("From ", task, ":\n", status.message()))
               .blamed(status.blame())
               .at_node(status.node());
}

void StepOutcome::lost(const Status& status) {
  std::lock_guard lock(mutex_);
  if (!cause_.ok()) return;
  cause_ = status;
  is_loss_ = true;
}

void StepOutcome::stood_at(const std::string& node) {
  std::lock_guard lock(mutex_);
  if (!node.empty() && is_loss_) cause_ = cause_.at_node(node);
}

void StepOutcome::ended() {
  std::lock_guard lock(mutex_);
  if (--left_ == 0) done_.notify_all();
}

bool StepOutcome::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, time, [&] { return left_ == 0; });
}

Status StepOutcome::status() const {
  std::lock_guard lock(mutex_);
  return is_loss_ && step_ ? lost_at_step(cause_, *step_) : cause_;
}

}  // namespace emplace
