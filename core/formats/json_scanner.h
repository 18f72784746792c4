/// JsonScanner: a place in JSON text, and what stands there that is no structure: white space, comments, strings.
/// JsonReader (core/formats/json_reader.h) adds values, lists and objects.
///
/// The first syntax error is added to Problems; from then on the place is the text's end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text_arena.h"
#include "core/graph/source.h"

namespace emplace {

class JsonScanner {
 public:
  /// Strings with escapes are decoded into `arena`; all others are views of `text`.
  JsonScanner(std::string_view text, Problems& problems, TextArena& arena)
      : begin_(text.data()), p_(begin_), end_(begin_ + text.size()), problems_(problems), arena_(arena) {}

  /// Byte offset of the next value; exact after peek(), next_key() and next_element().
  size_t position() const { return static_cast<size_t>(p_ - begin_); }
  /// Goes back to a value whose position() was noted, at the same depth.
  void seek(size_t position) { p_ = failed_ ? end_ : begin_ + position; }
  /// Where `text`, which this reader returned, stands; the position() now if it was decoded.
  size_t position_of(std::string_view text) const;

  bool failed() const { return failed_; }
  Problems& problems() { return problems_; }
  TextArena& arena() { return arena_; }
  void problem(size_t at, std::string message, std::string hint = {}) {
    problems_.add(static_cast<int64_t>(at), std::move(message), std::move(hint));
  }
  void problem(size_t at, const Status& status) {
    problems_.add(static_cast<int64_t>(at), status.message(), {}, status.code());
  }
  /// Nothing more is read, for a reason that is not the text's.
  void give_up(const Status& status);

 protected:
  /// To the next character that is neither white space nor part of a comment.
  void skip_space() {
    if (p_ < end_ && *p_ == ' ') ++p_;
    if (p_ < end_ && (static_cast<uint8_t>(*p_) <= ' ' || *p_ == '/')) skip_spaces_and_comments();
  }
  /// Takes the string whose opening quote is next: what stands between the quotes. `decode` false: escapes are checked
  /// but stay as they are.
  std::string_view string_text(bool decode);
  // Here as in the readers above, words about a mistake are found in functions of their own: those that every byte of a
  // file goes through then need no room for them.
  [[gnu::cold]] void fail(const char* at, std::string message, std::string hint = {});

  const char *begin_, *p_, *end_;
  bool failed_ = false;

 private:
  void skip_spaces_and_comments();
  bool skip_comment();
  [[gnu::cold]] void open_text();
  [[gnu::cold]] void control_character(const char* p);
  [[gnu::cold]] void not_utf8(const char* p);
  std::string_view decode_string(const char* begin);
  bool escape(const char*& p, std::string* out);
  const char* unicode_escape(const char* p, std::string* out);

  Problems& problems_;
  TextArena& arena_;
};

}  // namespace emplace
