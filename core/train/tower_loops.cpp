#include "core/train/tower_loops.h"

#include <mutex>
#include <thread>

#include "core/base/fair_mutex.h"

namespace emplace {

Status TowerLoops::run(const std::function<Result<bool>(Batch&)>& next,
                       const std::function<Status(const Batch&, const std::vector<Tensor>&)>& done) {
  FairMutex mutex;
  Status first;  // guarded by mutex, as failed_batch_ is
  auto take = [&](Batch& batch) {
    if (!first.ok()) return false;
    Result<bool> more = next(batch);
    if (!more.ok()) first = more.take_status();
    return first.ok() && *more;
  };
  auto loop = [&](size_t tower) {
    Batch batch;
    std::vector<Tensor> outputs;
    std::unique_lock lock(mutex);
    while (take(batch)) {
      lock.unlock();
      gate_.begin(tower);
      Status status = session_.run_step(kinds_[tower], batch.values, outputs);
      gate_.end(tower);
      lock.lock();
      if (status.ok()) status = done(batch, outputs);
      if (!first.ok() || status.ok()) continue;
      first = std::move(status);
      failed_batch_ = std::move(batch);
    }
  };
  std::vector<std::thread> threads;
  for (size_t tower = 1; tower < kinds_.size(); ++tower) threads.emplace_back(loop, tower);
  loop(0);
  for (std::thread& t : threads) t.join();
  return first;
}

}  // namespace emplace
