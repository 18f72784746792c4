/// BlockLayout: offsets in one block, handed out and taken back in running order; best fit, neighbours merged.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace emplace {

class BlockLayout {
 public:
  static constexpr int64_t kAlignment = 64;

  /// Offset of `bytes` (rounded up to the alignment, at least one unit).
  int64_t take(int64_t bytes);
  /// REQUIRES: as it was taken.
  void give_back(int64_t offset, int64_t bytes);

  /// The block's size so far.
  int64_t size() const { return size_; }

  static int64_t rounded(int64_t bytes) {
    return bytes < kAlignment ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  void insert(int64_t offset, int64_t bytes);

  std::map<int64_t, int64_t> by_offset_;           // free pieces
  std::set<std::pair<int64_t, int64_t>> by_size_;  // bytes, offset
  int64_t size_ = 0;
};

}  // namespace emplace
