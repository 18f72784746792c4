/// Words of the command line, the environment and configuration files that hold line ends: no message that repeats one
/// gets a line more by it.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

/// `word`, and its parts between '=', ',', ';' and blanks, will be escaped where a message repeats them. Not
/// thread-safe: of the start, before anything is said.
void note_foreign_word(std::string_view word);

/// A message with what was noted as printable() has it.
std::string escape_foreign_words(std::string message);

}  // namespace emplace
