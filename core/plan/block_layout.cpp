#include "core/plan/block_layout.h"

namespace emplace {

int64_t BlockLayout::take(int64_t bytes) {
  bytes = rounded(bytes);
  auto fit = by_size_.lower_bound({bytes, 0});
  if (fit == by_size_.end()) {
    // Grow; a free piece at the end becomes part of it.
    int64_t offset = size_;
    if (!by_offset_.empty()) {
      auto last = std::prev(by_offset_.end());
      if (last->first + last->second == size_) {
        offset = last->first;
        by_size_.erase({last->second, last->first});
        by_offset_.erase(last);
      }
    }
    size_ = offset + bytes;
    return offset;
  }
  auto [size, offset] = *fit;
  by_size_.erase(fit);
  by_offset_.erase(offset);
  if (size > bytes) insert(offset + bytes, size - bytes);
  return offset;
}

void BlockLayout::give_back(int64_t offset, int64_t bytes) {
  bytes = rounded(bytes);
  auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.end() && offset + bytes == next->first) {
    bytes += next->second;
    by_size_.erase({next->second, next->first});
    next = by_offset_.erase(next);
  }
  if (next != by_offset_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      by_size_.erase({previous->second, previous->first});
      by_offset_.erase(previous);
    }
  }
  insert(offset, bytes);
}

void BlockLayout::insert(int64_t offset, int64_t bytes) {
  by_offset_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

}  // namespace emplace
