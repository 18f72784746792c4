/// JsonWalker: goes over the text of a JSON value without reading numbers or escapes, for whoever wants to know where
/// something stands. Comments count as blanks. It never reads beyond the text; where that is not JSON, positions are a
/// best guess.
#pragma once

#include <cstddef>
#include <string_view>

namespace emplace {

class JsonWalker {
 public:
  JsonWalker(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t position() const { return at_; }
  /// The next character that is no blank, where position() is then; 0 at the end.
  char peek();
  /// Goes past `c` if it is next.
  bool take(char c);
  /// The characters between the quotes, escapes as written. REQUIRES: peek() == '"'.
  std::string_view take_string();
  void skip_value();
  /// Inside an object, behind a member: at the value of the next one. False at the end.
  bool next_member(std::string_view& key, size_t& key_position);

 private:
  void skip_space();

  std::string_view text_;
  size_t at_;
};

}  // namespace emplace
