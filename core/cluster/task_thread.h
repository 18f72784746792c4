/// TaskThread: the thread of one task of a cluster in this process: runs what it is given, one thing after the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace emplace {

class TaskThread {
 public:
  TaskThread();
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// REQUIRES: what was given before has ended.
  void start(std::function<void()> work);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::function<void()> work_;
  bool closing_ = false;

  std::thread thread_;
};

}  // namespace emplace
