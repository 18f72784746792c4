/// Batches: a thread that reads and converts batches beside the step that uses the one before.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "core/train/dataset.h"
#include "core/train/sample_order.h"

namespace emplace {

struct Batch {
  std::vector<Tensor> values;   // by placeholder of the data set
  std::vector<int64_t> rows;    // which samples they are
  DataPosition next;            // behind the batch
};

class Batches {
 public:
  /// `count` batches from `start` on. `data` must outlive it.
  Batches(const Dataset& data, SampleOrder order, DataPosition start, int64_t count);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// The next one. `used` is a batch that is not needed any more: its memory is taken again.
  /// REQUIRES: there is one left.
  Result<Batch> next(Batch used = {});

 private:
  static constexpr size_t kReady = 2;  // batches that wait: one would do, the second evens out

  void read_all();

  const Dataset& data_;
  SampleOrder order_;
  DataPosition position_;
  int64_t left_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Result<Batch>> ready_;   // guarded by mutex_
  std::deque<Batch> used_;            // guarded by mutex_
  bool stop_ = false;                 // guarded by mutex_
  std::thread thread_;
};

}  // namespace emplace
