#include "core/formats/json_scanner.h"

#include <cstring>
#include <string>

#include "core/base/cat.h"
#include "core/formats/utf8.h"

namespace emplace {

void JsonScanner::fail(const char* at, std::string message, std::string hint) {
  if (!failed_) problem(static_cast<size_t>(at - begin_), std::move(message), std::move(hint));
  failed_ = true;
  p_ = end_;
}

void JsonScanner::give_up(const Status& status) {
  if (!failed_) problems_.add(kNoPosition, status.message(), {}, status.code());
  failed_ = true;
  p_ = end_;
}

size_t JsonScanner::position_of(std::string_view text) const {
  return text.data() >= begin_ && text.data() <= end_ ? static_cast<size_t>(text.data() - begin_) : position();
}

void JsonScanner::skip_spaces_and_comments() {
  while (p_ < end_) {
    if (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t') {
      ++p_;
    } else if (*p_ != '/' || !skip_comment()) {
      return;
    }
  }
}

bool JsonScanner::skip_comment() {
  if (p_ + 1 < end_ && p_[1] == '/') {
    const void* newline = std::memchr(p_, '\n', static_cast<size_t>(end_ - p_));
    p_ = newline ? static_cast<const char*>(newline) : end_;
    return true;
  }
  if (p_ + 1 < end_ && p_[1] == '*') {
    size_t close = std::string_view(p_ + 2, static_cast<size_t>(end_ - p_ - 2)).find("*/");
    if (close == std::string_view::npos) {
      fail(p_, "this comment has no end", "close it with */");
    } else {
      p_ += close + 4;
    }
    return true;
  }
  return false;
}

void JsonScanner::open_text() { fail(p_, "this text has no end", "close it with a double quote"); }

void JsonScanner::control_character(const char* p) {
  fail(p, cat("found ", shown_character(p, end_), " in a text"),
       *p == '\n' || *p == '\r' ? "close the text with a double quote, or write the line break as \\n"
                                : "write it as an escape");
}

void JsonScanner::not_utf8(const char* p) { fail(p, cat("found ", shown_character(p, end_), " in a text: not UTF-8")); }

std::string_view JsonScanner::string_text(bool decode) {
  const char* first = p_ + 1;
  const char* p = first;
  for (;;) {
    p = plain_ascii_end(p, end_);
    if (p >= end_) {
      open_text();
      return {};
    }
    if (*p == '"') break;
    if (*p == '\\') {
      if (decode) return decode_string(first);
      if (!escape(p, nullptr)) return {};
    } else if (static_cast<uint8_t>(*p) < 0x20) {
      control_character(p);
      return {};
    } else if (size_t n = utf8_sequence(p, end_)) {
      p += n;
    } else {
      not_utf8(p);
      return {};
    }
  }
  p_ = p + 1;
  return {first, static_cast<size_t>(p - first)};
}

std::string_view JsonScanner::decode_string(const char* first) {
  std::string out;
  const char* p = first;
  while (p < end_ && *p != '"') {
    const char* plain = plain_ascii_end(p, end_);
    out.append(p, plain);
    p = plain;
    if (p >= end_ || *p == '"') continue;
    if (*p == '\\') {
      if (!escape(p, &out)) return {};
      continue;
    }
    size_t n = static_cast<uint8_t>(*p) < 0x20 ? 0 : utf8_sequence(p, end_);
    if (n == 0) {
      fail(p, cat("found ", shown_character(p, end_), " in a text"));
      return {};
    }
    out.append(p, n);
    p += n;
  }
  if (p >= end_) {
    open_text();
    return {};
  }
  p_ = p + 1;
  return arena_.keep(out);
}

// Steps over the escape at `p`; its meaning goes to `out` if there is one. False: it means nothing.
bool JsonScanner::escape(const char*& p, std::string* out) {
  static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (p + 1 < end_ && p[1] == 'u') {
    const char* next = unicode_escape(p, out);
    if (!next) return false;
    p = next;
    return true;
  }
  size_t letter = p + 1 < end_ ? kLetters.find(p[1]) : std::string_view::npos;
  if (letter == std::string_view::npos) {
    fail(p, "an escape that JSON does not have", "a backslash is written \\\\");
    return false;
  }
  if (out) *out += kMeanings[letter];
  p += 2;
  return true;
}

const char* JsonScanner::unicode_escape(const char* p, std::string* out) {
  auto unit = [&](const char* at) -> int {
    if (end_ - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int value = 0;
    for (int i = 2; i < 6; ++i) {
      char c = at[i];
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0) return -1;
      value = value * 16 + digit;
    }
    return value;
  };
  int code = unit(p);
  const char* at = p;
  p += 6;
  if (code >= 0xd800 && code < 0xdc00) {
    int low = unit(p);
    code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
    p += 6;
  } else if (code >= 0xdc00 && code < 0xe000) {
    code = -1;
  }
  if (code < 0) {
    fail(at, "a \\u escape that is not a character",
         "wanted four hexadecimal digits; beyond U+FFFF, a pair of surrogates");
    return nullptr;
  }
  if (out) append_utf8(*out, static_cast<uint32_t>(code));
  return p;
}

}  // namespace emplace
