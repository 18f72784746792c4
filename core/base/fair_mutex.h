/// FairMutex: a mutex that lets threads in in the order in which they came. Of a std::mutex, the thread that has just
/// left it is the likeliest to get it again: of loops with short steps, one would do nearly all.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace emplace {

class FairMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    const uint64_t mine = last_++;
    left_.wait(lock, [&] { return first_ == mine; });
  }
  void unlock() {
    {
      std::lock_guard lock(mutex_);
      ++first_;
    }
    left_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  uint64_t first_ = 0, last_ = 0;  // places in the line: of who is in, behind everyone; guarded by mutex_
};

}  // namespace emplace
