/// Expression: a regular expression, POSIX's extended ones as the system has them: it matches without recursion, so
/// that a long text cannot exhaust the stack.
#pragma once

#include <regex.h>

#include <string>

namespace emplace {

/// Concurrent calls of matches() are fine.
class Expression {
 public:
  /// kWhole: the whole text must match; kLine: any part of one of its lines.
  enum class Match : bool { kWhole, kLine };
  Expression(const std::string& pattern, Match match);
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression();

  bool sound() const { return code_ == 0; }
  /// Why it is not, in the system's words.
  std::string what_is_wrong() const;
  /// Of a text up to its first zero byte. REQUIRES: sound().
  bool matches(const std::string& text) const { return regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t regex_{};
  int code_;  // of regcomp()
};

}  // namespace emplace
