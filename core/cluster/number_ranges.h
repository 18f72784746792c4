/// NumberRanges: a set of numbers that mostly follow each other, in the room of a few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace emplace {

class NumberRanges {
 public:
  void add(uint64_t number);
  bool contains(uint64_t number) const;
  void erase_below(uint64_t number);
  /// Of numbers without a gap.
  size_t num_ranges() const { return end_.size(); }

 private:
  std::map<uint64_t, uint64_t> end_;  // by the first of a range: one behind its last
};

}  // namespace emplace
