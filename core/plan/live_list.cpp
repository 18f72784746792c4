#include "core/plan/live_list.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

void LiveList::add(std::string_view producer, int64_t bytes) {
  if (bytes <= 0) return;
  listed_ += bytes;
  insert(producer, bytes);
}

void LiveList::add_rest(std::string_view what, int64_t total) {
  if (total > listed_) insert(cat("(", what, ")"), total - listed_);
  listed_ = 0;
}

void LiveList::insert(std::string_view producer, int64_t bytes) {
  const auto at = std::upper_bound(shown_.begin(), shown_.end(), bytes,
                                   [](int64_t b, const auto& shown) { return b > shown.second; });
  if (at == shown_.end() && shown_.size() == kShown) {
    ++more_, more_bytes_ += bytes;
    return;
  }
  shown_.emplace(at, producer, bytes);
  if (shown_.size() <= kShown) return;
  ++more_, more_bytes_ += shown_.back().second;
  shown_.pop_back();
}

std::vector<std::pair<std::string, int64_t>> LiveList::take() {
  if (more_ > 0) shown_.emplace_back(cat("(", more_, " more)"), more_bytes_);
  return std::exchange(shown_, {});
}

}  // namespace emplace
