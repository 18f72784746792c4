#include "core/base/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/acting_character.h"

namespace emplace {
namespace {

// Length of the valid UTF-8 sequence at the start of `s`, 0 if there is none (Unicode, table 3-7).
size_t utf8_length(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  auto tail = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  unsigned c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xc2 && c <= 0xdf) return tail(1) ? 2 : 0;
  if (c >= 0xe0 && c <= 0xef) {
    bool second = tail(1) && !(c == 0xe0 && byte(1) < 0xa0) && !(c == 0xed && byte(1) > 0x9f);
    return second && tail(2) ? 3 : 0;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    bool second = tail(1) && !(c == 0xf0 && byte(1) < 0x90) && !(c == 0xf4 && byte(1) > 0x8f);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// The character of a valid sequence of 2 or 3 bytes; of others nothing is asked.
uint32_t code_of(std::string_view sequence) {
  uint32_t code = static_cast<unsigned char>(sequence[0]) & (sequence.size() == 2 ? 0x1fu : 0x0fu);
  for (const char c : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

void append_unicode_escape(std::string& out, uint32_t code) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[code >> shift & 15];
}

// Where the characters end that stand for themselves, each a byte.
size_t plain_length(std::string_view s) {
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  return static_cast<size_t>(std::find_if_not(s.begin(), s.end(), plain) - s.begin());
}

template <class T>
void append_number(std::string& out, T v) {
  if (std::isnan(v)) {
    out += "\"NaN\"";
  } else if (std::isinf(v)) {
    out += v > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else if (v == 0 && std::signbit(v)) {
    out += "-0.0";  // "-0" is an integer to many readers, which loses the sign
  } else {
    char text[32];
    out.append(text, std::to_chars(text, text + sizeof text, v).ptr);
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (;;) {
    const size_t plain = plain_length(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    size_t length = 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c < 0x20 || c == 0x7f) {
          append_unicode_escape(out, c);
        } else if (length = utf8_length(text); length > 0) {
          const std::string_view sequence = text.substr(0, length);
          const bool acts = length < 4 && is_acting(code_of(sequence));  // on a terminal that shows the document
          acts ? append_unicode_escape(out, code_of(sequence)) : void(out += sequence);
        } else {
          out += "\\ufffd";
          length = 1;
        }
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void JsonWriter::new_line() {
  if (indent_ == 0 || (compact_from_ >= 0 && depth_ >= compact_from_)) return;
  out_ += '\n';
  out_.append(static_cast<size_t>(indent_) * static_cast<size_t>(depth_), ' ');
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) out_ += indent_ > 0 && (compact_from_ < 0 || depth_ < compact_from_) ? "," : ", ";
  if (depth_ > 0) new_line();
  first_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  ++depth_;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  bool empty = first_;
  bool was_compact = compact_from_ >= 0 && depth_ >= compact_from_;
  if (compact_from_ == depth_) compact_from_ = -1;
  --depth_;
  if (!empty && !was_compact) new_line();
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double v) {
  separate();
  append_number(out_, v);
  return *this;
}

JsonWriter& JsonWriter::value(float v) {
  separate();
  append_number(out_, v);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace emplace
