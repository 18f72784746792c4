#include "core/base/suggest.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr size_t kLongestWord = 128;  // longer ones are compared for equality only

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

int substitution(char a, char b) { return a == b ? 0 : lower(a) == lower(b) ? 1 : 2; }

}  // namespace

int edit_distance(std::string_view a, std::string_view b, int limit) {
  if (a == b) return 0;
  if (a.size() > kLongestWord || b.size() > kLongestWord) return limit + 1;
  if (2 * std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())) > limit) return limit + 1;
  using Row = std::array<int, kLongestWord + 1>;
  Row before_last{}, last{}, row{};
  for (size_t j = 0; j <= b.size(); ++j) last[j] = 2 * static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = 2 * static_cast<int>(i);
    int smallest = row[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 2, row[j - 1] + 2, last[j - 1] + substitution(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 2);
      smallest = std::min(smallest, row[j]);
    }
    if (smallest > limit) return limit + 1;
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

// A third of the letters may be wrong, and one of a short word.
Suggestion::Suggestion(std::string_view word)
    : word_(word), limit_(2 * std::clamp<int>(static_cast<int>(word.size()) / 3, 1, 4)) {}

void Suggestion::offer(std::string_view candidate) {
  if (limit_ < 0) return;
  constexpr size_t kPrefix = 4;
  if (std::equal(word_.begin(), word_.end(), candidate.begin(), candidate.end(),
                 [](char a, char b) { return lower(a) == lower(b); })) {
    best_ = candidate;
    limit_ = word_ == candidate ? -1 : 0;
    return;
  }
  // The beginning of a word is better than nothing.
  if (best_.empty() && word_.size() >= kPrefix && candidate.starts_with(word_)) best_ = candidate;
  int distance = edit_distance(word_, candidate, limit_);
  if (distance > limit_ || distance >= 2 * static_cast<int>(std::max(word_.size(), candidate.size()))) return;
  best_ = candidate;
  limit_ = distance - 1;
}

std::string Suggestion::text() const { return best_.empty() ? std::string() : cat("did you mean '", best_, "'?"); }

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  Suggestion suggestion(word);
  for (std::string_view c : candidates) suggestion.offer(c);
  return suggestion.text();
}

}  // namespace emplace
