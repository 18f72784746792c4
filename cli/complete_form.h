/// Forms of values, as placeholders and words of options tell them, and where in one a value has come to that somebody
/// is typing. Lower case and signs stand for themselves, capitals for what differs: "latest", "REGEX=DEVICE",
/// "places=NODE@DEVICE", "[NAME=]TENSOR", "DEVICE,..."; '|' stands between several.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace emplace {

struct FormPart {
  std::string before;       // of the last word: stays as it is
  std::string literal;      // what may follow it; empty: something of a kind
  std::string_view kind;    // "NODE", "FILE"
  std::string_view behind;  // "=", where the form goes on behind that
};

/// `last`: the last word of the command line, whose value begins at `begin`. `form` outlives the result.
FormPart part_at_end(std::string_view form, std::string_view last, size_t begin);

/// "latest|FILE": its two forms.
std::vector<std::string_view> split_forms(std::string_view forms);

}  // namespace emplace
