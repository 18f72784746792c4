#include "core/base/idle_memory.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/heap.h"

namespace emplace {
namespace {

// Less than this is not worth a walk over the heap: what the process has may be over the limit by so much.
constexpr int64_t kLeastIdle = int64_t{4} << 20;

std::atomic<int64_t> idle{0};  // at most so much of the heap is free and not returned

struct Keepers {
  std::mutex mutex;
  std::vector<IdleKeeper*> all;
};

Keepers& keepers() {
  static Keepers of_process;
  return of_process;
}

}  // namespace

void note_idle(int64_t bytes) { idle.fetch_add(bytes, std::memory_order_relaxed); }

void trim_idle(int64_t in_use, int64_t limit) {
  const auto is_enough = [=] {
    const int64_t free = idle.load(std::memory_order_relaxed);
    return free < kLeastIdle || free <= limit - in_use;
  };
  if (is_enough()) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (is_enough()) return;
  // What was noted may have been used again since then, many times.
  const int64_t noted = idle.load(std::memory_order_relaxed), most = std::min(noted, private_memory());
  idle.fetch_sub(noted - most, std::memory_order_relaxed);
  if (is_enough()) return;
  return_free_heap();
  idle.fetch_sub(most, std::memory_order_relaxed);
}

IdleKeeper::IdleKeeper(std::function<void()> release) : release_(std::move(release)) {
  const std::lock_guard lock(keepers().mutex);
  keepers().all.push_back(this);
}

IdleKeeper::~IdleKeeper() {
  const std::lock_guard lock(keepers().mutex);
  std::erase(keepers().all, this);
}

void release_kept_memory() {
  const std::lock_guard lock(keepers().mutex);
  for (IdleKeeper* keeper : keepers().all) keeper->release_();
}

}  // namespace emplace
