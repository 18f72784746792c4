/// ThreadPool: the one set of computing threads of the process, as many as the affinity mask allows. Whoever has work
/// to share takes part in it, and never waits for a piece that nobody has begun.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/parallel.h"
#include "core/run/stop_signal.h"

namespace emplace {

class ThreadPool {
 public:
  /// Threads start with the first work that is worth sharing.
  static ThreadPool& shared();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Threads that can compute, the caller included.
  int size() const { return size_; }

  using Work = void (*)(void* closure, int64_t piece);
  /// Calls work(closure, piece) once for each piece of [0, count), on the caller and at most `max_threads` - 1 workers.
  /// Any thread may call, also from inside a piece. `wake`: worth waking threads that sleep (tens of microseconds).
  /// What a piece throws is thrown once all have ended, the first of several.
  void run(int64_t count, int max_threads, bool wake, Work work, void* closure);
  /// Takes part in whatever others share now. False: there was nothing. For those who would only wait.
  bool help_anyone();
  /// How often work was offered to other threads so far; it wraps around.
  uint32_t shared_so_far() const { return epoch_.load(std::memory_order_relaxed); }

 private:
  struct Job;
  struct alignas(64) Slot {
    std::atomic<Job*> job{nullptr};
    std::atomic<int> visitors{0};  // workers that may be looking at the job
  };
  static constexpr int kSlots = 32;  // jobs at a time; more run on their caller alone

  ThreadPool();
  void start();
  void worker();
  static void take_pieces(Job& job);

  int size_;
  std::once_flag started_;
  std::vector<std::thread> threads_;
  Slot slots_[kSlots];
  std::atomic<uint32_t> epoch_{0};  // counts jobs; sleepers wait for it to change
  std::atomic<int> sleeping_{0};
  std::atomic<bool> ending_{false};
};

/// parallel_for on the pool. Pieces depend on n and cost only.
class PoolParallel final : public Parallel {
 public:
  /// `stop`, if any: pieces that have not begun are skipped once it asks.
  void configure(int max_threads, const StopSignal* stop) {
    max_threads_ = max_threads;
    stop_ = stop;
  }

 protected:
  void run_erased(int64_t n, double cost_ns, Body body, const void* closure) override;

 private:
  int max_threads_ = 1;
  const StopSignal* stop_ = nullptr;
};

}  // namespace emplace
