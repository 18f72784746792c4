#include "core/train/batches.h"

#include <algorithm>
#include <utility>

#include "core/base/stop.h"

namespace emplace {
namespace {

/// Cancelled once a stop is requested: `batch.rows` may be incomplete then.
Result<Batch> read(const Dataset& data, Batch batch) {
  RETURN_IF_ERROR(stop_status());
  RETURN_IF_ERROR(data.gather(batch.rows, batch.values));
  return batch;
}

/// Deep where batches are small: every wake-up of the thread may cost the step its place on a busy machine.
size_t depth(int64_t batch_bytes) {
  constexpr int64_t kBytes = int64_t{16} << 20, kLeast = 2, kMost = 64;
  return static_cast<size_t>(std::clamp(kBytes / std::max<int64_t>(batch_bytes, 1), kLeast, kMost));
}

}  // namespace

Batches::Batches(const Dataset& data, SampleOrder order, DataPosition start, int64_t count)
    : data_(data),
      depth_(depth(order.batch() * data.sample_bytes())),
      order_(std::move(order)),
      position_(start),
      left_(count),
      thread_([this] {
        try {
          read_ahead();
        } catch (...) {  // no memory: next() tells
          std::lock_guard lock(mutex_);
          thrown_ = std::current_exception();
          reading_ = false;
          ready_or_read_.notify_one();
        }
      }) {}

Batches::~Batches() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  thread_.join();
}

Batch Batches::take() {
  Batch batch;
  if (!used_.empty()) {
    batch = std::move(used_.front());
    used_.pop_front();
  }
  batch.rows = order_.take(position_);
  batch.next = position_;
  --left_;
  return batch;
}

void Batches::read_ahead() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ready_.size() >= depth_)
      room_.wait(lock, [this] { return stop_ || left_ == 0 || ready_.size() <= depth_ / 2; });
    if (stop_ || left_ == 0) return;
    Batch batch = take();
    reading_ = true;
    lock.unlock();
    Result<Batch> done = read(data_, std::move(batch));
    lock.lock();
    reading_ = false;
    ready_.push_back(std::move(done));
    ready_or_read_.notify_one();
  }
}

Result<Batch> Batches::next(Batch used) {
  std::unique_lock lock(mutex_);
  if (!used.values.empty()) used_.push_back(std::move(used));
  ready_or_read_.wait(lock, [this] { return !ready_.empty() || !reading_; });
  if (ready_.empty() && thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  if (ready_.empty()) return read(data_, take());
  Result<Batch> batch = std::move(ready_.front());
  ready_.pop_front();
  bool wake = ready_.size() == depth_ / 2;
  lock.unlock();
  if (wake) room_.notify_one();
  return batch;
}

}  // namespace emplace
