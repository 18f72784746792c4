#include "core/run/follower.h"

#include <algorithm>

namespace emplace {

Follower::Follower(const FollowingKernel& kernel, KernelContext& context)
    : kernel_(kernel),
      context_(context),
      missing_(std::make_unique<std::atomic<int64_t>[]>(static_cast<size_t>(kernel.pieces()))) {
  rows_.reserve(static_cast<size_t>(kernel.pieces()));
  for (int64_t piece = 0; piece < kernel.pieces(); ++piece) rows_.push_back(kernel.rows_of(piece));
}

void Follower::begin() {
  for (size_t i = 0; i < rows_.size(); ++i) missing_[i].store(rows_[i].end - rows_[i].begin, std::memory_order_relaxed);
}

void Follower::finished(int64_t first, int64_t count) {
  const int64_t end = first + count;
  const auto ends_before = [](int64_t row, const FollowingKernel::Rows& rows) { return row < rows.end; };
  auto at = std::upper_bound(rows_.begin(), rows_.end(), first, ends_before);
  for (; at != rows_.end() && at->begin < end; ++at) {
    const int64_t rows = std::min(end, at->end) - std::max(first, at->begin);
    const auto piece = at - rows_.begin();
    // Who takes the last ones sees what the others wrote.
    if (missing_[static_cast<size_t>(piece)].fetch_sub(rows, std::memory_order_acq_rel) == rows)
      kernel_.run_piece(context_, piece);
  }
}

}  // namespace emplace
