#include "core/train/tower_loops.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/exit_code.h"
#include "core/base/fair_mutex.h"

namespace emplace {

/// What the loops share. All of it, and what TowerLoops keeps beside, is guarded by the mutex.
struct TowerLoops::Run {
  const Calls& calls;
  FairMutex mutex = {};
  std::condition_variable_any changed = {};
  Status first = {};
  std::deque<Batch> again = {};  // of towers that were lost
  size_t running = 0;            // steps
  bool dry = false;              // there is no next batch

  /// False: nothing is left to do, nor may a batch come back. A waiting tower is told of each step's end.
  bool take(Batch& batch, std::unique_lock<FairMutex>& lock) {
    for (;;) {
      if (!first.ok()) return false;
      if (!again.empty()) {
        batch = std::move(again.front());
        again.pop_front();
        return ++running, true;
      }
      if (!dry) {
        Result<bool> more = calls.next(batch);
        if (!more.ok()) return first = more.take_status(), false;
        if (*more) return ++running, true;
        dry = true;
      }
      if (running == 0) return false;
      changed.wait(lock);
    }
  }
};

bool TowerLoops::is_last(size_t tower) const {
  for (size_t i = 0; i < lost_.size(); ++i) {
    if (i != tower && !lost_[i]) return false;
  }
  return true;
}

void TowerLoops::loop(Run& run, size_t tower) {
  Batch batch;
  std::vector<Tensor> outputs;
  std::unique_lock lock(run.mutex);
  while (!lost_[tower] && run.take(batch, lock)) {
    lock.unlock();
    gate_.begin(tower);
    Status status = session_.run_step(callables_[tower], batch.values, outputs);
    const bool lost = status.blame() == kBlamePeer;
    lost ? gate_.give_up(tower) : gate_.end(tower);
    lock.lock();
    --run.running;
    if (lost && run.first.ok() && !is_last(tower)) {
      lost_[tower] = true;
      run.calls.lost(status);
      run.again.push_back(std::exchange(batch, {}));
      status = ok_status();
    } else if (status.ok()) {
      status = run.calls.done(tower, batch, outputs);
    }
    run.changed.notify_all();
    if (!run.first.ok() || status.ok()) continue;
    run.first = std::move(status);
    failed_batch_ = std::exchange(batch, {});
  }
  run.changed.notify_all();
}

Status TowerLoops::run(const Calls& calls) {
  Run run{calls};
  std::vector<std::thread> threads;
  for (size_t tower = 1; tower < callables_.size(); ++tower)
    threads.emplace_back([this, &run, tower] { loop(run, tower); });
  loop(run, 0);
  for (std::thread& t : threads) t.join();
  return run.first;
}

}  // namespace emplace
