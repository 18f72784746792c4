#include "core/train/batches.h"

namespace emplace {

Batches::Batches(const Dataset& data, SampleOrder order, DataPosition start, int64_t count)
    : data_(data), order_(std::move(order)), position_(start), left_(count), thread_([this] { read_all(); }) {}

Batches::~Batches() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Batches::read_all() {
  for (; left_ > 0; --left_) {
    Batch batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || ready_.size() < kReady; });
      if (stop_) return;
      if (!used_.empty()) {
        batch = std::move(used_.front());
        used_.pop_front();
      }
    }
    batch.rows = order_.take(position_);
    batch.next = position_;
    Status status = data_.gather(batch.rows, batch.values);
    std::lock_guard lock(mutex_);
    bool failed = !status.ok();
    ready_.push_back(failed ? Result<Batch>(std::move(status)) : Result<Batch>(std::move(batch)));
    changed_.notify_all();
    if (failed) return;
  }
}

Result<Batch> Batches::next(Batch used) {
  std::unique_lock lock(mutex_);
  if (!used.values.empty()) used_.push_back(std::move(used));
  changed_.wait(lock, [this] { return !ready_.empty(); });
  Result<Batch> batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

}  // namespace emplace
