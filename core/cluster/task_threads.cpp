#include "core/cluster/task_threads.h"

#include <utility>

namespace emplace {

TaskThreads::~TaskThreads() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void TaskThreads::start(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    if (idle_ < work_.size()) threads_.emplace_back([this] { serve(); });
  }
  changed_.notify_one();  // without the lock, which whoever wakes needs
}

void TaskThreads::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [&] { return !work_.empty() || closing_; });
    --idle_;
    if (work_.empty()) return;
    const std::function<void()> work = std::exchange(work_.front(), nullptr);
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace emplace
