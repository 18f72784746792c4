#include "core/cluster/number_ranges.h"

#include <algorithm>
#include <iterator>

namespace emplace {

void NumberRanges::add(uint64_t number) {
  if (contains(number)) return;
  const auto after = end_.upper_bound(number);
  const bool joins_after = after != end_.end() && after->first == number + 1;
  const bool joins_before = after != end_.begin() && std::prev(after)->second == number;
  const uint64_t end = joins_after ? after->second : number + 1;
  if (joins_before) std::prev(after)->second = end;
  if (joins_after) end_.erase(after);
  if (!joins_before) end_[number] = end;
}

bool NumberRanges::contains(uint64_t number) const {
  const auto after = end_.upper_bound(number);
  return after != end_.begin() && number < std::prev(after)->second;
}

void NumberRanges::erase_below(uint64_t number) {
  while (!end_.empty() && end_.begin()->first < number) {
    const uint64_t end = end_.begin()->second;
    end_.erase(end_.begin());
    if (end > number) end_[number] = end;
  }
}

}  // namespace emplace
