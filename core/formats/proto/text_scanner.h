/// TextScanner: the words of protobuf's text form: names, numbers, quoted texts, signs. Comments are white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace::proto {

class TextScanner {
 public:
  enum class Kind : uint8_t { kEnd, kName, kNumber, kQuoted, kSign, kError };

  explicit TextScanner(std::string_view text) : begin_(text.data()), p_(text.data()), end_(p_ + text.size()) {
    advance();
  }

  Kind kind() const { return kind_; }
  /// As written, quotes included.
  std::string_view word() const { return word_; }
  size_t position() const { return static_cast<size_t>(word_.data() - begin_); }
  bool is(char sign) const { return kind_ == Kind::kSign && word_.front() == sign; }
  /// Takes the sign if it is next.
  bool take(char sign);
  void advance();
  /// Of kError: what is wrong.
  const char* error() const { return error_; }

 private:
  void skip_space();
  void scan_quoted(char quote);

  const char *begin_, *p_, *end_;
  Kind kind_ = Kind::kEnd;
  std::string_view word_;
  const char* error_ = "";
};

/// Appends what a quoted word says. Null, or what is wrong with it.
const char* unquote(std::string_view word, std::string& out);

}  // namespace emplace::proto
