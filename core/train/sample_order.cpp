#include "core/train/sample_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/stop.h"
#include "core/ops/random/philox.h"

namespace emplace {
namespace {

__extension__ typedef unsigned __int128 Wide;

}  // namespace

std::vector<int64_t> permutation(uint64_t seed, int64_t epoch, int64_t rows) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const PhiloxStream stream(seed, 0, static_cast<uint64_t>(epoch));
  PhiloxWords words(stream, 0);
  constexpr uint64_t kLookEvery = 1 << 16;
  for (uint64_t left = static_cast<uint64_t>(rows); left > 1; --left) {
    if (left % kLookEvery == 0 && stop_requested()) break;
    // A 64-bit word scaled to [0, left): the bias is below left / 2^64.
    uint64_t high = words.next();
    uint64_t word = high << 32 | words.next();
    auto pick = static_cast<uint64_t>((static_cast<Wide>(word) * left) >> 64);
    std::swap(order[left - 1], order[pick]);
  }
  return order;
}

SampleOrder::SampleOrder(int64_t rows, int64_t batch, bool shuffle, bool drop_remainder, uint64_t seed)
    : rows_(rows),
      batch_(batch > 0 ? std::min(batch, rows) : rows),
      used_rows_(drop_remainder ? rows - rows % batch_ : rows),
      shuffle_(shuffle),
      seed_(seed) {}

std::vector<int64_t> SampleOrder::take(DataPosition& position) {
  if (position.row >= used_rows_) position = {position.epoch + 1, 0};
  if (shuffle_ && shuffled_epoch_ != position.epoch) {
    order_ = permutation(seed_, position.epoch, rows_);
    shuffled_epoch_ = position.epoch;
  }
  const int64_t end = std::min(position.row + batch_, used_rows_);
  std::vector<int64_t> rows(static_cast<size_t>(end - position.row));
  std::iota(rows.begin(), rows.end(), position.row);
  if (shuffle_) {
    for (int64_t& row : rows) row = order_[static_cast<size_t>(row)];
  }
  position.row = end;
  if (position.row >= used_rows_) position = {position.epoch + 1, 0};
  return rows;
}

}  // namespace emplace
