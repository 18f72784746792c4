#include "core/graph/attr_position.h"

#include <optional>

namespace emplace {
namespace {

/// Walks JSON that is known to be well-formed.
class Walker {
 public:
  Walker(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t position() const { return at_; }

  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  /// The characters between the quotes, escapes as written.
  std::string_view take_string() {
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const size_t end = at_ < text_.size() ? at_ : text_.size();
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  void skip_value() {
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        take_string();
      } else if (c == '\0') {
        return;
      } else {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        ++at_;
        while (!ends_token(c) && at_ < text_.size() && !ends_token(text_[at_])) ++at_;
      }
    } while (depth > 0);
  }

  /// Inside an object, behind a member: at the value of the next one. False at the end.
  bool next_member(std::string_view& key, size_t& key_position) {
    take(',');
    if (peek() != '"') return false;
    key_position = at_;
    key = take_string();
    return take(':');
  }

 private:
  static bool ends_token(char c) { return std::string_view("{}[],:\"/ \t\r\n").find(c) != std::string_view::npos; }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      if (text_.substr(at_, 2) == "//") {
        at_ = text_.find('\n', at_);
      } else if (text_.substr(at_, 2) == "/*") {
        at_ = text_.find("*/", at_);
        if (at_ != std::string_view::npos) ++at_;
      } else if (std::string_view(" \t\r\n").find(text_[at_]) == std::string_view::npos) {
        return;
      }
      if (at_ == std::string_view::npos) at_ = text_.size() - 1;
    }
  }

  std::string_view text_;
  size_t at_;
};

/// Behind the node's name, at the value of its member `wanted`; nothing if that is not found there.
std::optional<Walker> walk_to(std::string_view text, int64_t name_position, std::string_view wanted) {
  if (name_position < 0 || static_cast<size_t>(name_position) >= text.size()) return std::nullopt;
  Walker walker(text, static_cast<size_t>(name_position));
  if (walker.peek() != '"') return std::nullopt;
  walker.skip_value();
  std::string_view key;
  size_t key_position = 0;
  while (walker.next_member(key, key_position)) {
    if (key == wanted) return walker;
    walker.skip_value();
  }
  return std::nullopt;
}

}  // namespace

int64_t attr_position(std::string_view text, int64_t name_position, std::string_view attr) {
  std::optional<Walker> walker = walk_to(text, name_position, "attr");
  if (!walker || !walker->take('{')) return name_position;
  std::string_view key;
  size_t key_position = 0;
  while (walker->next_member(key, key_position)) {
    if (key == attr) return static_cast<int64_t>(key_position);
    walker->skip_value();
  }
  return name_position;
}

int64_t op_position(std::string_view text, int64_t name_position) {
  std::optional<Walker> walker = walk_to(text, name_position, "op");
  return walker && walker->peek() == '"' ? static_cast<int64_t>(walker->position()) : name_position;
}

int64_t input_position(std::string_view text, int64_t name_position, size_t input) {
  std::optional<Walker> walker = walk_to(text, name_position, "input");
  if (!walker || walker->peek() != '[') return name_position;
  const auto list = static_cast<int64_t>(walker->position());
  walker->take('[');
  for (size_t i = 0; walker->peek() != ']' && walker->peek() != '\0'; ++i) {
    if (i == input) return static_cast<int64_t>(walker->position());
    walker->skip_value();
    walker->take(',');
  }
  return list;
}

}  // namespace emplace
