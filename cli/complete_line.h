/// What could stand at the end of a command line that somebody is typing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace emplace {

struct Completions {
  std::vector<std::string> words;  // each in place of the last word
  bool files = false;              // the last word is, or ends in, the name of a file: the shell knows those
};

/// `line`: from "emplace" up to the cursor, as typed. Never fails: where nothing is known, nothing is offered.
Completions complete_line(std::string_view line);

}  // namespace emplace
