#include "core/cluster/task_thread.h"

#include <utility>

namespace emplace {

TaskThread::TaskThread() : thread_([this] { serve(); }) {}

TaskThread::~TaskThread() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void TaskThread::start(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  work_ = std::move(work);
  changed_.notify_all();
}

void TaskThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return work_ || closing_; });
    if (!work_) return;
    const std::function<void()> work = std::exchange(work_, nullptr);
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace emplace
