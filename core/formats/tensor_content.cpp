#include "core/formats/tensor_content.h"

#include <cstdint>
#include <vector>

namespace emplace {

bool unpack_strings(std::string_view content, std::string* out, size_t count) {
  std::string_view rest = content;
  std::vector<size_t> lengths(count);
  for (size_t& length : lengths) {
    for (int shift = 0;; shift += 7) {
      if (rest.empty() || shift > 28) return false;
      auto byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      length |= static_cast<size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (lengths[i] > rest.size()) return false;
    out[i] = rest.substr(0, lengths[i]);
    rest.remove_prefix(lengths[i]);
  }
  return rest.empty();
}

}  // namespace emplace
