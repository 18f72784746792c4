#include "core/formats/node_name.h"

#include <catch2/catch.hpp>

#include <string>

namespace emplace {

TEST_CASE("names: every byte is seen, wherever it stands in a name of any length") {
  for (size_t size = 1; size <= 20; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string name(size, 'z');
        name[at] = static_cast<char>(byte);
        const bool letter =
            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        const bool mark = byte != 0 && std::string("_./>-").find(name[at]) != std::string::npos;
        const bool bad_begin = at == 0 && mark && byte != '_' && byte != '.';
        INFO("byte " << byte << " at " << at << " of " << size);
        CHECK(first_bad_character(name) == ((letter || mark) && !bad_begin ? std::string::npos : at));
      }
    }
  }
  CHECK(first_bad_character("") == std::string::npos);
}

}  // namespace emplace
