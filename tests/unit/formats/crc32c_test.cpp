// Checksums of checkpoints, of every length that goes another way.
#include "core/formats/checkpoint/crc32c.h"

#include <catch2/catch.hpp>
#include <string>

#include "core/base/parallel.h"

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

std::string mixed(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761u) >> 13);
  return text;
}

/// The last pieces first, and one never: as a pool does that is told to stop.
class Backwards final : public Parallel {
 protected:
  void run_erased(int64_t n, double, Body body, const void* closure) override {
    for (int64_t i = n; i-- > 0;) {
      if (i != 1) body(closure, i, i + 1);
    }
  }
};

}  // namespace

TEST_CASE("a checksum is the polynomial's, whatever the length") {
  CHECK(crc32c("123456789") == 0xe3069283u);  // RFC 3720's check
  const std::string text = mixed(600000);
  const std::string_view all = text;
  for (const size_t size : {0,     1,     7,     8,     9,      767,    768,    769,    5000,   24575, 24576,
                            24577, 25357, 49152, 75001, 196607, 196608, 196609, 221184, 393216, 500001}) {
    CAPTURE(size);
    CHECK(crc32c(all.substr(3, size)) == by_definition(all.substr(3, size)));
  }
}

TEST_CASE("a checksum goes on where another one ended") {
  const std::string text(30000, 'x');
  const std::string_view all = text;
  CHECK(crc32c(all.substr(777), crc32c(all.substr(0, 777))) == crc32c(all));
}

TEST_CASE("a checksum of pieces is that of the whole, in whatever order they are summed") {
  const std::string text = mixed((size_t{12} << 20) + 12345);
  const std::string_view all = text;
  Backwards backwards;
  Sequential sequential;
  const size_t piece = size_t{4} << 20;
  for (const size_t size : {size_t{5}, 2 * piece - 1, 2 * piece, 2 * piece + 1, all.size() - 3}) {
    CAPTURE(size);
    CHECK(shared_crc32c(all.substr(3, size), backwards) == crc32c(all.substr(3, size)));
    CHECK(shared_crc32c(all.substr(3, size), sequential) == crc32c(all.substr(3, size)));
  }
  CHECK(shared_crc32c(all.substr(0, 2 * piece), backwards) == by_definition(all.substr(0, 2 * piece)));
}
