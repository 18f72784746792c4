// A job is a counter on its caller's stack, announced in a slot. Workers look through the slots, spin for a while when
// there is nothing, then sleep on a futex.
#include "core/run/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <exception>

#include "core/base/flush_denormals.h"

namespace emplace {
namespace {

constexpr int kSpins = 4000;  // about 20 us of looking for work before a sleep

void pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

int affinity_size() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

struct ThreadPool::Job {
  Work work;
  void* closure;
  int64_t count;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::atomic<int> seats{0};  // workers that may still join
  std::atomic<bool> failed{false};
  std::exception_ptr error{};  // of the first piece that threw; read once all are done
};

ThreadPool& ThreadPool::shared() {
  static ThreadPool pool;
  return pool;
}

ThreadPool::ThreadPool() : size_(affinity_size()) {}

ThreadPool::~ThreadPool() {
  ending_ = true;
  epoch_.fetch_add(1);
  futex_wake(epoch_, INT_MAX);
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::start() {
  for (int i = 1; i < size_; ++i) {
    try {
      threads_.emplace_back([this] { worker(); });
    } catch (const std::system_error&) {
      return;  // fewer threads, same results
    }
  }
}

void ThreadPool::take_pieces(Job& job) {
  for (int64_t piece; (piece = job.next.fetch_add(1, std::memory_order_relaxed)) < job.count;) {
    try {
      job.work(job.closure, piece);
    } catch (...) {
      if (!job.failed.exchange(true)) job.error = std::current_exception();
    }
    job.done.fetch_add(1, std::memory_order_release);
  }
}

bool ThreadPool::help_anyone() {
  bool helped = false;
  for (Slot& slot : slots_) {
    if (slot.job.load(std::memory_order_relaxed) == nullptr) continue;
    slot.visitors.fetch_add(1);
    Job* job = slot.job.load();
    if (job && job->next.load(std::memory_order_relaxed) < job->count && job->seats.fetch_sub(1) > 0) {
      take_pieces(*job);
      helped = true;
    }
    slot.visitors.fetch_sub(1, std::memory_order_release);
  }
  return helped;
}

void ThreadPool::worker() {
  FlushDenormals flush;
  while (!ending_.load(std::memory_order_relaxed)) {
    uint32_t seen = epoch_.load();
    if (help_anyone()) continue;
    int spins = kSpins;
    while (spins > 0 && epoch_.load(std::memory_order_relaxed) == seen) {
      pause();
      --spins;
    }
    if (spins > 0) continue;
    sleeping_.fetch_add(1);
    futex_wait(epoch_, seen);
    sleeping_.fetch_sub(1);
  }
}

void ThreadPool::run(int64_t count, int max_threads, bool wake, Work work, void* closure) {
  Job job{.work = work, .closure = closure, .count = count};
  int helpers = static_cast<int>(std::min<int64_t>(std::min(max_threads, size_) - 1, count - 1));
  Slot* mine = nullptr;
  if (helpers > 0) {
    std::call_once(started_, [this] { start(); });
    job.seats = helpers;
    for (Slot& slot : slots_) {
      Job* none = nullptr;
      if (slot.job.load(std::memory_order_relaxed) == nullptr && slot.job.compare_exchange_strong(none, &job)) {
        mine = &slot;
        break;
      }
    }
  }
  if (mine) {
    epoch_.fetch_add(1);
    if (wake && sleeping_.load() > 0) futex_wake(epoch_, helpers);
  }
  take_pieces(job);
  if (mine) mine->job.store(nullptr);
  for (int spins = 0;
       mine && (job.done.load(std::memory_order_acquire) < count || mine->visitors.load(std::memory_order_acquire) > 0);
       ++spins) {
    if (spins < kSpins)
      pause();
    else
      sched_yield();
  }
  if (job.failed) std::rethrow_exception(job.error);
}

void PoolParallel::run_erased(int64_t n, double cost_ns, Body body, const void* closure) {
  if (n <= 0) return;
  // A piece is worth handing over from about 8 us; more than 64 per loop would gain nothing.
  constexpr double kPieceNs = 8000;
  constexpr int64_t kMaxPieces = 64;
  double total = static_cast<double>(n) * cost_ns;
  int64_t pieces = std::min({n, kMaxPieces, static_cast<int64_t>(std::min(total / kPieceNs, 1e6))});
  if (pieces <= 1) {
    body(closure, 0, n);
    return;
  }
  struct Loop {
    Body body;
    const void* closure;
    int64_t n, pieces;
    const StopSignal* stop;
  } loop{body, closure, n, pieces, stop_};
  auto piece = [](void* self, int64_t i) {
    const Loop& l = *static_cast<const Loop*>(self);
    if (l.stop && l.stop->asked()) return;
    auto begin = [&](int64_t k) { return l.n / l.pieces * k + std::min(k, l.n % l.pieces); };
    l.body(l.closure, begin(i), begin(i + 1));
  };
  constexpr double kWorthWaking = 60000;
  ThreadPool::shared().run(pieces, max_threads_, total > kWorthWaking, piece, &loop);
}

}  // namespace emplace
