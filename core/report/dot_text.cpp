#include "core/report/dot_text.h"

#include "core/base/printable.h"

namespace emplace {

std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace emplace
