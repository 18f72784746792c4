#include "core/run/parallel_run.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace emplace {

ParallelRun::ParallelRun(const Schedule& schedule, int threads)
    : schedule_(schedule),
      threads_(threads),
      waiting_for_(std::make_unique<std::atomic<uint32_t>[]>(schedule.num_nodes())) {
  ready_.reserve(schedule.num_nodes());
}

Status ParallelRun::run_erased(RunNode run_node, const void* closure) {
  run_node_ = run_node;
  closure_ = closure;
  ready_.clear();
  failed_ = ~uint32_t{0};
  failure_ = Status();
  thrown_ = nullptr;
  left_ = schedule_.num_nodes();
  for (uint32_t n = 0; n < schedule_.num_nodes(); ++n) {
    waiting_for_[n].store(schedule_.num_sources(n), std::memory_order_relaxed);
    if (schedule_.num_sources(n) == 0) ready_.push_back(n);
  }
  auto by_rank = [this](uint32_t a, uint32_t b) { return schedule_.rank(a) < schedule_.rank(b); };
  std::make_heap(ready_.begin(), ready_.end(), by_rank);
  ThreadPool::shared().run(
      threads_, threads_, true, [](void* self, int64_t) { static_cast<ParallelRun*>(self)->work(); }, this);
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return std::move(failure_);
}

// Every thread that takes part stays until all nodes are done; without one to run it helps others with their loops.
void ParallelRun::work() {
  int idle = 0;
  while (left_.load(std::memory_order_acquire) > 0) {
    uint32_t node;
    if (take(node)) {
      idle = 0;
      bool skipped;
      {
        std::lock_guard lock(mutex_);
        skipped = node > failed_;
      }
      run_one(node, skipped);
    } else if (!ThreadPool::shared().help_anyone() && ++idle > 1000) {
      sched_yield();
    }
  }
}

// What is thrown is kept as it is: there may be no room for a Status that tells of it.
void ParallelRun::run_one(uint32_t node, bool skipped) {
  Status status;
  std::exception_ptr thrown;
  try {
    if (!skipped) status = run_node_(closure_, schedule_.instruction(node));
  } catch (...) {
    thrown = std::current_exception();
  }
  complete(node, std::move(status), std::move(thrown));
}

bool ParallelRun::take(uint32_t& node) {
  std::lock_guard lock(mutex_);
  if (ready_.empty()) return false;
  std::pop_heap(ready_.begin(), ready_.end(),
                [this](uint32_t a, uint32_t b) { return schedule_.rank(a) < schedule_.rank(b); });
  node = ready_.back();
  ready_.pop_back();
  return true;
}

void ParallelRun::complete(uint32_t node, Status status, std::exception_ptr thrown) {
  std::lock_guard lock(mutex_);
  if ((!status.ok() || thrown) && node < failed_) {
    failed_ = node;
    failure_ = std::move(status);
    thrown_ = std::move(thrown);
  }
  for (uint32_t target : schedule_.targets(node)) {
    if (waiting_for_[target].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    ready_.push_back(target);
    std::push_heap(ready_.begin(), ready_.end(),
                   [this](uint32_t a, uint32_t b) { return schedule_.rank(a) < schedule_.rank(b); });
  }
  left_.fetch_sub(1, std::memory_order_release);
}

}  // namespace emplace
