// Checksums of checkpoints, of every length that goes another way.
#include "core/formats/checkpoint/crc32c.h"

#include <catch2/catch.hpp>
#include <string>

using namespace emplace;

namespace {

/// Bit by bit, as the polynomial says.
uint32_t by_definition(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

}  // namespace

TEST_CASE("a checksum is the polynomial's, whatever the length") {
  CHECK(crc32c("123456789") == 0xe3069283u);  // RFC 3720's check
  std::string text(80000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>((i * 2654435761u) >> 13);
  const std::string_view all = text;
  for (const size_t size : {0, 1, 7, 8, 9, 767, 768, 769, 5000, 24575, 24576, 24577, 25357, 49152, 75001}) {
    CAPTURE(size);
    CHECK(crc32c(all.substr(3, size)) == by_definition(all.substr(3, size)));
  }
}

TEST_CASE("a checksum goes on where another one ended") {
  const std::string text(30000, 'x');
  const std::string_view all = text;
  CHECK(crc32c(all.substr(777), crc32c(all.substr(0, 777))) == crc32c(all));
}
