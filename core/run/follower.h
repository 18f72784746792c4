/// Follower: makes the pieces of what follows a product as soon as all rows that they read are finished, on the thread
/// that finished the last of them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/op/following_kernel.h"

namespace emplace {

class Follower {
 public:
  /// `kernel`, prepared, and its `context` outlive this.
  Follower(const FollowingKernel& kernel, KernelContext& context);
  /// Before a step's first row.
  void begin();
  /// Rows [first, first + count) are finished: once for every row, from any thread.
  void finished(int64_t first, int64_t count);

 private:
  const FollowingKernel& kernel_;
  KernelContext& context_;
  std::vector<FollowingKernel::Rows> rows_;          // that a piece reads
  std::unique_ptr<std::atomic<int64_t>[]> missing_;  // of them, in this step
};

}  // namespace emplace
