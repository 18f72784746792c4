#include "core/base/json_error.h"

#include <cstdio>

#include "core/base/cat.h"

namespace emplace {

// "[json.exception.parse_error.101] parse error at line 1, column 1: syntax error while parsing value - invalid
// literal"
std::string json_error_text(std::string_view origin, std::string_view what) {
  if (size_t end = what.find("] "); what.starts_with('[') && end != what.npos) what.remove_prefix(end + 2);
  unsigned long line = 0, column = 0;
  if (std::sscanf(std::string(what).c_str(), "parse error at line %lu, column %lu:", &line, &column) != 2)
    return cat(origin, ": ", what);
  if (size_t dash = what.find(" - "); dash != what.npos) {
    what.remove_prefix(dash + 3);
  } else {
    what.remove_prefix(what.find(": ") + 2);
  }
  return cat(origin, ":", line, ":", column, ": not JSON: ", what);
}

}  // namespace emplace
