/// Batches: a thread that reads and converts batches beside the step that uses the one before.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/train/dataset.h"
#include "core/train/sample_order.h"

namespace emplace {

struct Batch {
  std::vector<Tensor> values;  // by placeholder of the data set
  std::vector<int64_t> rows;   // which samples they are
  DataPosition next;           // behind the batch
};

class Batches {
 public:
  /// `count` batches from `start` on. `data` must outlive it.
  Batches(const Dataset& data, SampleOrder order, DataPosition start, int64_t count);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// The next one. `used` is a batch that is not needed any more: its memory is taken again. Where the thread has not
  /// got round to it, the caller reads the batch itself. REQUIRES: there is one left.
  Result<Batch> next(Batch used = {});

 private:
  void read_ahead();
  /// Which samples come next, and memory for them. REQUIRES: mutex_ is held.
  Batch take();

  const Dataset& data_;
  const size_t depth_;  // batches that may wait; when half of them are left, the thread is woken

  std::mutex mutex_;
  std::condition_variable room_, ready_or_read_;
  // Guarded by mutex_.
  SampleOrder order_;
  DataPosition position_;
  int64_t left_;
  std::deque<Result<Batch>> ready_;
  std::deque<Batch> used_;
  bool reading_ = false;  // the thread has taken a batch that is not in ready_ yet
  bool stop_ = false;
  std::exception_ptr thrown_;  // what ended the thread

  std::thread thread_;
};

}  // namespace emplace
