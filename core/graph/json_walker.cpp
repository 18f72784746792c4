#include "core/graph/json_walker.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool ends_token(char c) { return std::string_view("{}[],:\"/ \t\r\n").find(c) != std::string_view::npos; }

}  // namespace

char JsonWalker::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonWalker::take(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

std::string_view JsonWalker::take_string() {
  const size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
  const size_t end = std::min(at_, text_.size());
  at_ = std::min(end + 1, text_.size());
  return text_.substr(begin, end - begin);
}

void JsonWalker::skip_value() {
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

bool JsonWalker::next_member(std::string_view& key, size_t& key_position) {
  take(',');
  if (peek() != '"') return false;
  key_position = at_;
  key = take_string();
  return take(':');
}

void JsonWalker::skip_space() {
  while (at_ < text_.size()) {
    size_t end = at_;
    if (text_.substr(at_, 2) == "//") {
      end = text_.find('\n', at_);
    } else if (text_.substr(at_, 2) == "/*") {
      end = text_.find("*/", at_ + 2);
      if (end != std::string_view::npos) ++end;
    } else if (kBlanks.find(text_[at_]) == std::string_view::npos) {
      return;
    }
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
  }
}

}  // namespace emplace
