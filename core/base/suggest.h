/// "did you mean": the known word nearest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace emplace {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`; a change of case counts half
/// of one, hence the unit is a half. Stops early and returns `limit + 1` when the distance is above `limit`.
int edit_distance(std::string_view a, std::string_view b, int limit);

/// Offered words one after the other, keeps the nearest that is near enough to be meant, else one that goes on where
/// the word ends, or that the word goes on from ("Constant" from "Const"). The first of equals wins.
class Suggestion {
 public:
  explicit Suggestion(std::string_view word);
  void offer(std::string_view candidate);
  /// Empty if nothing was near. Points into what was offered.
  std::string_view best() const { return best_; }
  /// "did you mean 'X'?", or empty.
  std::string text() const;

 private:
  std::string_view word_, best_;
  int limit_;             // distance that a better candidate may have
  bool is_part_ = false;  // best_ is only a part of the word
};

/// text() over a list.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace emplace
