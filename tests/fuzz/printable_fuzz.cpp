// Names and texts: what is shown of any bytes holds no control character, and is UTF-8.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/json_writer.h"
#include "core/base/printable.h"

using namespace emplace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& shown : {printable(text), csv_cell(text), html_text(text)}) {
    const bool acts = std::any_of(shown.begin(), shown.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
    if (acts || !is_utf8(shown) || printable(shown) != shown) std::abort();
  }
  if (const std::string cell = csv_cell(text); !cell.empty() && std::string_view("=+-@").find(cell[0]) != cell.npos)
    std::abort();
  return 0;
}
