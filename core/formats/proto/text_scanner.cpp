#include "core/formats/proto/text_scanner.h"

#include <cstring>

namespace emplace::proto {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr uint8_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kFirst[more] | code >> (6 * more));
  while (more-- > 0) out += static_cast<char>(0x80 | (code >> (6 * more) & 0x3f));
}

// The number that follows, of at most `most` digits; false if there is none.
bool take_digits(const char*& p, const char* end, int base, int most, uint32_t& out) {
  const char* start = p;
  for (out = 0; p < end && p - start < most && digit_value(*p) < base; ++p)
    out = out * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit_value(*p));
  return p != start;
}

}  // namespace

void TextScanner::skip_space() {
  while (p_ < end_) {
    if (*p_ == ' ' || *p_ == '\n' || *p_ == '\t' || *p_ == '\r' || *p_ == '\f' || *p_ == '\v') {
      ++p_;
    } else if (*p_ == '#') {
      const void* line_end = std::memchr(p_, '\n', static_cast<size_t>(end_ - p_));
      p_ = line_end ? static_cast<const char*>(line_end) + 1 : end_;
    } else {
      return;
    }
  }
}

void TextScanner::scan_quoted(char quote) {
  const char* start = p_++;
  kind_ = Kind::kQuoted;
  for (; p_ < end_ && *p_ != '\n'; ++p_) {
    if (*p_ == quote) {
      word_ = {start, static_cast<size_t>(++p_ - start)};
      return;
    }
    if (*p_ == '\\' && p_ + 1 < end_ && p_[1] != '\n') ++p_;
  }
  kind_ = Kind::kError;
  word_ = {start, static_cast<size_t>(p_ - start)};
  error_ = "a text without its closing quote";
}

void TextScanner::advance() {
  if (kind_ == Kind::kError) return;
  skip_space();
  const char* start = p_;
  if (p_ == end_) {
    kind_ = Kind::kEnd;
  } else if (is_letter(*p_)) {
    while (p_ < end_ && (is_letter(*p_) || is_digit(*p_))) ++p_;
    kind_ = Kind::kName;
  } else if (is_digit(*p_) || (*p_ == '.' && p_ + 1 < end_ && is_digit(p_[1]))) {
    bool hex = *p_ == '0' && p_ + 1 < end_ && (p_[1] == 'x' || p_[1] == 'X');
    while (p_ < end_ && (is_letter(*p_) || is_digit(*p_) || *p_ == '.' ||
                         (!hex && (*p_ == '+' || *p_ == '-') && (p_[-1] == 'e' || p_[-1] == 'E'))))
      ++p_;
    kind_ = Kind::kNumber;
  } else if (*p_ == '"' || *p_ == '\'') {
    return scan_quoted(*p_);
  } else if (std::strchr("{}<>[]:,;-/.", *p_) && *p_ != '\0') {
    ++p_;
    kind_ = Kind::kSign;
  } else {
    ++p_;
    kind_ = Kind::kError;
    error_ = "a character that has no meaning here";
  }
  word_ = {start, static_cast<size_t>(p_ - start)};
}

bool TextScanner::take(char sign) {
  if (!is(sign)) return false;
  advance();
  return true;
}

const char* unquote(std::string_view word, std::string& out) {
  const char *p = word.data() + 1, *end = word.data() + word.size() - 1;
  while (p < end) {
    if (*p != '\\') {
      out += *p++;
      continue;
    }
    const char c = *++p;
    static constexpr std::string_view kEscapes = "abfnrtv\\'\"?", kMeaning = "\a\b\f\n\r\t\v\\'\"?";
    uint32_t code = 0;
    if (size_t i = kEscapes.find(c); i != std::string_view::npos) {
      out += kMeaning[i];
      ++p;
    } else if (c >= '0' && c <= '7') {
      take_digits(p, end, 8, 3, code);
      out += static_cast<char>(code);
    } else if (c == 'x' || c == 'X') {
      if (!take_digits(++p, end, 16, 2, code)) return "\\x without digits";
      out += static_cast<char>(code);
    } else if (c == 'u' || c == 'U') {
      const char* digits = ++p;
      const int length = c == 'u' ? 4 : 8;
      if (!take_digits(p, end, 16, length, code) || p - digits != length || code > 0x10ffff)
        return "an escape that is not a character";
      append_utf8(out, code);
    } else {
      return "an escape that there is not";
    }
  }
  return nullptr;
}

}  // namespace emplace::proto
