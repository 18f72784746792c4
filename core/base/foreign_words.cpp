#include "core/base/foreign_words.h"

#include <algorithm>
#include <vector>

#include "core/base/printable.h"

namespace emplace {
namespace {

/// Longer ones first: a part is replaced where the whole is not.
std::vector<std::string>& noted() {
  static std::vector<std::string> words;
  return words;
}

bool breaks_lines(std::string_view word) {
  return word.find('\n') != word.npos && word.find_first_not_of('\n') != word.npos;
}

void note(std::string_view word) {
  std::vector<std::string>& words = noted();
  if (!breaks_lines(word) || std::find(words.begin(), words.end(), word) != words.end()) return;
  const auto shorter = [&](const std::string& other) { return other.size() < word.size(); };
  words.emplace(std::find_if(words.begin(), words.end(), shorter), word);
}

}  // namespace

void note_foreign_word(std::string_view word) {
  if (!breaks_lines(word)) return;
  note(word);
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = std::min(word.find_first_of("=,; ", begin), word.size());
    note(word.substr(begin, end - begin));
    note(word.substr(begin));  // the value of --option=a,b
    begin = end + 1;
  }
}

std::string escape_foreign_words(std::string message) {
  for (const std::string& word : noted()) {
    const std::string shown = printable(word);
    for (size_t at = message.find(word); at != message.npos; at = message.find(word, at + shown.size()))
      message.replace(at, word.size(), shown);
  }
  return message;
}

}  // namespace emplace
