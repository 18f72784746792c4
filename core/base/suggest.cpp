#include "core/base/suggest.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr size_t kLongestWord = 128;  // longer ones are compared for equality only

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

int substitution(char a, char b) { return a == b ? 0 : lower(a) == lower(b) ? 1 : 2; }

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

using Row = std::array<int, kLongestWord + 2>;

void strip_common_ends(std::string_view& a, std::string_view& b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
}

}  // namespace

// Both ends that are the same cost nothing, and no cell further off the diagonal than `limit` allows is looked at: a
// file with many long names that are nearly the same is compared as fast as any other.
int edit_distance(std::string_view a, std::string_view b, int limit) {
  if (a == b) return 0;
  if (a.size() > kLongestWord || b.size() > kLongestWord) return limit + 1;
  if (2 * std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())) > limit) return limit + 1;
  strip_common_ends(a, b);
  const size_t off = static_cast<size_t>(std::max(limit, 0)) / 2;
  std::array<Row, 3> rows{};
  Row *before_last = &rows[0], *last = &rows[1], *row = &rows[2];
  for (size_t j = 0; j <= b.size(); ++j) (*last)[j] = 2 * static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    const size_t begin = i > off ? i - off : 1, end = std::min(b.size(), i + off);
    (*row)[begin - 1] = begin == 1 ? 2 * static_cast<int>(i) : limit + 1;
    int smallest = (*row)[begin - 1];
    for (size_t j = begin; j <= end; ++j) {
      const int aside = std::min((*last)[j], (*row)[j - 1]) + 2;
      (*row)[j] = std::min(aside, (*last)[j - 1] + substitution(a[i - 1], b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        (*row)[j] = std::min((*row)[j], (*before_last)[j - 2] + 2);
      smallest = std::min(smallest, (*row)[j]);
    }
    if (smallest > limit) return limit + 1;
    if (end < b.size()) (*row)[end + 1] = limit + 1;
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min((*last)[b.size()], limit + 1);
}

// A third of the letters may be wrong, and one of a short word.
Suggestion::Suggestion(std::string_view word)
    : word_(word), limit_(2 * std::clamp<int>(static_cast<int>(word.size()) / 3, 1, 4)) {}

void Suggestion::offer(std::string_view candidate) {
  if (limit_ < 0) return;
  constexpr size_t kPrefix = 4;
  if (same_letters(word_, candidate)) {
    best_ = candidate, is_part_ = false;
    limit_ = word_ == candidate ? -1 : 0;
    return;
  }
  // The beginning of a word is better than nothing.
  if ((best_.empty() || is_part_) && word_.size() >= kPrefix && candidate.starts_with(word_))
    best_ = candidate, is_part_ = false;
  if (best_.size() < candidate.size() && (best_.empty() || is_part_) && candidate.size() >= kPrefix &&
      candidate.size() < word_.size() && same_letters(candidate, word_.substr(0, candidate.size())))
    best_ = candidate, is_part_ = true;
  int distance = edit_distance(word_, candidate, limit_);
  if (distance > limit_ || distance >= 2 * static_cast<int>(std::max(word_.size(), candidate.size()))) return;
  best_ = candidate, is_part_ = false;
  limit_ = distance - 1;
}

std::string Suggestion::text() const { return best_.empty() ? std::string() : cat("did you mean '", best_, "'?"); }

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  Suggestion suggestion(word);
  for (std::string_view c : candidates) suggestion.offer(c);
  return suggestion.text();
}

}  // namespace emplace
