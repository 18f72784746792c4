#include "cli/config_file.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/base/printable.h"

namespace emplace {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

class ConfigParser {
 public:
  ConfigParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<ConfigEntry>> parse() {
    for (skip_to_word(); !at_end(); skip_to_word()) {
      if (text_[at_] == '[') {
        RETURN_IF_ERROR(read_section());
      } else {
        RETURN_IF_ERROR(read_entry());
      }
    }
    return std::move(entries_);
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool at(char c) const { return !at_end() && text_[at_] == c; }
  /// Of a line or of the file, or a comment.
  bool at_line_end() const { return at_end() || at('\n') || at('#'); }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  std::string_view rest_of_line() const { return trimmed(text_.substr(at_, text_.find('\n', at_) - at_)); }
  std::string_view take_until(std::string_view ends) {
    const size_t begin = std::exchange(at_, std::min(text_.find_first_of(ends, at_), text_.size()));
    return trimmed(text_.substr(begin, at_ - begin));
  }

  /// Over line ends and comments.
  void skip_to_word() {
    for (skip_blanks(); at('\n') || at('#') || (at(';') && starts_line()); skip_blanks()) {
      if (at('\n')) {
        ++at_, ++line_, line_begin_ = at_;
      } else {
        skip_line();
      }
    }
  }
  bool starts_line() const { return trimmed(text_.substr(line_begin_, at_ - line_begin_)).empty(); }

  Status wanted(std::string_view what, int64_t line) const {
    constexpr size_t kShown = 80;
    const std::string_view rest = rest_of_line();
    return invalid_argument(cat(printable(file_), ":", line, ": found ",
                                at_end()       ? "the end of the file"
                                : rest.empty() ? "the end of the line"
                                               : cat("'", printable(rest.substr(0, kShown)), "'"),
                                ", wanted ", what));
  }

  Status read_section() {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_not_of('[', at_), text_.size());
    const std::string_view name = take_until("]#\n");
    const bool closed = at(']');
    if (closed) at_ = std::min(text_.find_first_not_of(']', at_), text_.size());
    skip_blanks();
    if (!closed || name.empty() || !at_line_end()) return at_ = begin, wanted("[SUBCOMMAND]", line_);
    section_ = name.substr(0, name.find('.'));
    if (section_ == "default") section_.clear();
    return ok_status();
  }

  Status read_entry() {
    const size_t begin = at_;
    ConfigEntry entry{section_, "", {}, line_};
    std::string_view name = take_until("=#\n");
    if (name.size() > 1 && (name.front() == '"' || name.front() == '\'') && name.back() == name.front())
      name = name.substr(1, name.size() - 2);
    if (name.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == name.npos)
      return at_ = begin, wanted("NAME = VALUE", line_);
    if (!at('=') && name.find_first_of("{:") != name.npos) return at_ = begin, wanted("NAME = VALUE", line_);
    if (const size_t dot = name.find('.'); dot != name.npos) {
      if (section_.empty()) entry.section = name.substr(0, dot);
      name = name.substr(name.rfind('.') + 1);
    }
    entry.name = name;
    if (!at('=')) {
      entry.values = {{"true", line_}};
    } else {
      ++at_;
      skip_blanks();
      RETURN_IF_ERROR(at('[') ? read_list(entry) : read_words(entry));
    }
    skip_blanks();
    if (!at_line_end()) return wanted("the end of the line", line_);
    add(std::move(entry));
    return ok_status();
  }

  /// On one line, with blanks or commas between them.
  Status read_words(ConfigEntry& entry) {
    if (at_line_end()) return wanted(cat("a value of ", printable(entry.name)), line_);
    while (!at_line_end()) {
      RETURN_IF_ERROR(read_word(entry, " \t\r,#\n"));
      skip_blanks();
      if (at(',')) ++at_, skip_blanks();
    }
    return ok_status();
  }

  Status read_list(ConfigEntry& entry) {
    ++at_;
    for (skip_to_word(); !at(']'); skip_to_word()) {
      if (!at_end()) RETURN_IF_ERROR(read_word(entry, ",]#\n"));
      skip_to_word();
      if (at(',')) {
        ++at_;
      } else if (!at(']')) {
        return wanted(cat("',' or ']' in the list of ", printable(entry.name), " that begins on line ", entry.line),
                      line_);
      }
    }
    ++at_;
    return ok_status();
  }

  Status read_word(ConfigEntry& entry, std::string_view ends) {
    if (!at('"') && !at('\'')) {
      if (ends.find(text_[at_]) != ends.npos) return wanted(cat("a value of ", printable(entry.name)), line_);
      return entry.values.push_back({std::string(take_until(ends)), line_}), ok_status();
    }
    const size_t end = text_.find_first_of(text_[at_] == '"' ? "\"\n" : "'\n", at_ + 1);
    if (end == text_.npos || text_[end] == '\n')
      return wanted(cat("a closing ", text_[at_] == '"' ? "\"" : "'"), line_);
    entry.values.push_back({std::string(text_.substr(at_ + 1, end - at_ - 1)), line_});
    at_ = end + 1;
    if (!at_line_end() && ends.find(text_[at_]) == ends.npos && kBlanks.find(text_[at_]) == kBlanks.npos)
      return wanted("nothing more behind the closing quote", line_);
    return ok_status();
  }

  void add(ConfigEntry entry) {
    if (entries_.empty() || entries_.back().name != entry.name || entries_.back().section != entry.section) {
      entries_.push_back(std::move(entry));
      return;
    }
    for (ConfigValue& value : entry.values) entries_.back().values.push_back(std::move(value));
  }

  const std::string_view text_, file_;
  size_t at_ = 0, line_begin_ = 0;
  int64_t line_ = 1;
  std::string section_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view file) {
  return ConfigParser(text, file).parse();
}

}  // namespace emplace
