/// The text of a configuration file (--config): NAME = VALUE a line, in sections of subcommands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace emplace {

struct ConfigValue {
  std::string text;
  int64_t line = 0;
};

struct ConfigEntry {
  std::string section;  // the first part of its name; empty: above all sections
  std::string name;     // as written
  std::vector<ConfigValue> values;
  int64_t line = 0;
};

/// The part of TOML that options need: strings and bare words, lists of them over several lines, comments, sections,
/// dotted names. A name alone is true, words may stand without quotes, a name that follows itself adds to its values.
/// InvalidArgument, with `file` and the line: what is neither, a list or a string without an end.
Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view file);

}  // namespace emplace
