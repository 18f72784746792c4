#include "core/formats/checkpoint/crc32c.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <array>
#include <cstring>

namespace emplace {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // bits reversed

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}();

uint32_t by_table(const char* p, size_t size, uint32_t crc) {
  for (; size > 0; ++p, --size) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(*p)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
// What `zeros` zero bytes behind a sum make of it is linear in the sum: a table per byte of it.
using Shift = std::array<std::array<uint32_t, 256>, 4>;
// Bytes that each of three sums takes at a time: the instruction waits for 3 cycles. Long ones are read in order, as
// memory likes it: 1 GiB takes 0.12 s in stripes of 8 KiB, 0.28 s in stripes of 1 KiB.
constexpr size_t kLongStripe = 8192, kShortStripe = 256;

uint32_t shifted(const Shift& shift, uint32_t crc) {
  return shift[0][crc & 0xff] ^ shift[1][crc >> 8 & 0xff] ^ shift[2][crc >> 16 & 0xff] ^ shift[3][crc >> 24];
}

/// `zeros`: a power of two.
Shift shift_by(size_t zeros) {
  Shift shift{};
  const auto fill = [](Shift& out, const auto& of) {
    for (size_t byte = 0; byte < 4; ++byte) {
      for (uint32_t value = 0; value < 256; ++value) out[byte][value] = of(value << (8 * byte));
    }
  };
  fill(shift, [](uint32_t crc) { return crc >> 8 ^ kTable[crc & 0xff]; });
  for (size_t done = 1; done < zeros; done *= 2) {
    const Shift half = shift;
    fill(shift, [&](uint32_t crc) { return shifted(half, shifted(half, crc)); });
  }
  return shift;
}

uint64_t word_at(const char* p) {
  uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

/// Takes as many times three stripes as there are from the front of the bytes.
template <size_t kStripe>
[[gnu::target("sse4.2")]] uint64_t by_stripes(const char*& p, size_t& size, uint64_t a) {
  if (size < 3 * kStripe) return a;
  static const Shift kOne = shift_by(kStripe);
  for (; size >= 3 * kStripe; p += 3 * kStripe, size -= 3 * kStripe) {
    uint64_t b = 0, c = 0;
    for (size_t i = 0; i < kStripe; i += 8) {
      a = __builtin_ia32_crc32di(a, word_at(p + i));
      b = __builtin_ia32_crc32di(b, word_at(p + i + kStripe));
      c = __builtin_ia32_crc32di(c, word_at(p + i + 2 * kStripe));
    }
    a = shifted(kOne, shifted(kOne, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^ c;
  }
  return a;
}

[[gnu::target("sse4.2")]] uint32_t by_instruction(const char* p, size_t size, uint32_t start) {
  uint64_t a = by_stripes<kLongStripe>(p, size, start);
  a = by_stripes<kShortStripe>(p, size, a);
  for (; size >= 8; p += 8, size -= 8) a = __builtin_ia32_crc32di(a, word_at(p));
  return by_table(p, size, static_cast<uint32_t>(a));
}

bool has_crc_instruction() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t crc) {
#if defined(__x86_64__)
  static const bool kHasInstruction = has_crc_instruction();
  if (kHasInstruction) return ~by_instruction(bytes.data(), bytes.size(), ~crc);
#endif
  return ~by_table(bytes.data(), bytes.size(), ~crc);
}

}  // namespace emplace
