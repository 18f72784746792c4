#include "core/formats/checkpoint/crc32c.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "core/base/parallel.h"

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

// What `zeros` zero bytes behind a sum make of it is linear in the sum: a table per byte of it.
using Shift = std::array<std::array<uint32_t, 256>, 4>;

constexpr size_t kSharedPiece = size_t{4} << 20;  // of those that are summed beside each other; a power of two
constexpr double kSharedPieceNs = 300'000;        // what memory allows

uint32_t shifted(const Shift& shift, uint32_t crc) {
  return shift[0][crc & 0xff] ^ shift[1][crc >> 8 & 0xff] ^ shift[2][crc >> 16 & 0xff] ^ shift[3][crc >> 24];
}

/// `zeros`: a power of two.
Shift shift_by(size_t zeros) {
  std::array<uint32_t, 32> bits{};  // what becomes of each bit of a sum, at first behind one zero byte
  for (size_t i = 0; i < 32; ++i) bits[i] = by_table("", 1, uint32_t{1} << i);
  const auto moved = [&](uint32_t crc) {
    uint32_t out = 0;
    for (size_t i = 0; i < 32; ++i) out ^= crc >> i & 1 ? bits[i] : 0;
    return out;
  };
  for (size_t done = 1; done < zeros; done *= 2) {
    std::array<uint32_t, 32> twice{};
    for (size_t i = 0; i < 32; ++i) twice[i] = moved(bits[i]);
    bits = twice;
  }
  Shift shift{};
  for (size_t byte = 0; byte < 4; ++byte) {
    for (uint32_t value = 0; value < 256; ++value) shift[byte][value] = moved(value << (8 * byte));
  }
  return shift;
}

#if defined(__x86_64__)
// Bytes that each of three sums takes at a time: the instruction waits for 3 cycles. Long ones are read in order, as
// memory likes it, and fetched ahead: 1 GiB takes 70 ms in stripes of 64 KiB, 100 ms in stripes of 8 KiB, 280 ms in
// stripes of 1 KiB. What is left of longer ones is likely to be in the cache.
constexpr size_t kLongStripe = 65536, kStripe = 8192, kShortStripe = 256;
constexpr size_t kAhead = 1024;

uint64_t word_at(const char* p) {
  uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

/// Takes as many times three stripes as there are from the front of the bytes.
template <size_t kSize>
[[gnu::target("sse4.2")]] uint64_t by_stripes(const char*& p, size_t& size, uint64_t a) {
  constexpr size_t kLine = 64;
  if (size < 3 * kSize) return a;
  static const Shift kOne = shift_by(kSize);
  for (; size >= 3 * kSize; p += 3 * kSize, size -= 3 * kSize) {
    uint64_t b = 0, c = 0;
    for (size_t line = 0; line < kSize; line += kLine) {
      if constexpr (kSize == kLongStripe) {
        for (size_t stripe = 0; stripe < 3; ++stripe) __builtin_prefetch(p + line + stripe * kSize + kAhead);
      }
      for (const char* q = p + line; q < p + line + kLine; q += 8) {
        a = __builtin_ia32_crc32di(a, word_at(q));
        b = __builtin_ia32_crc32di(b, word_at(q + kSize));
        c = __builtin_ia32_crc32di(c, word_at(q + 2 * kSize));
      }
    }
    a = shifted(kOne, shifted(kOne, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^ c;
  }
  return a;
}

[[gnu::target("sse4.2")]] uint32_t by_instruction(const char* p, size_t size, uint32_t start) {
  uint64_t a = by_stripes<kLongStripe>(p, size, start);
  a = by_stripes<kStripe>(p, size, a);
  a = by_stripes<kShortStripe>(p, size, a);
  for (; size >= 8; p += 8, size -= 8) a = __builtin_ia32_crc32di(a, word_at(p));
  return by_table(p, size, static_cast<uint32_t>(a));
}

bool has_crc_instruction() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}
#endif

/// `crc` is turned over before and behind, as the definition has it.
uint32_t sum_on(std::string_view bytes, uint32_t crc) {
#if defined(__x86_64__)
  static const bool kHasInstruction = has_crc_instruction();
  if (kHasInstruction) return by_instruction(bytes.data(), bytes.size(), crc);
#endif
  return by_table(bytes.data(), bytes.size(), crc);
}

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t crc) { return ~sum_on(bytes, ~crc); }

uint32_t shared_crc32c(std::string_view bytes, Parallel& parallel) {
  const size_t pieces = bytes.size() / kSharedPiece;
  if (pieces < 2) return crc32c(bytes);
  std::vector<std::optional<uint32_t>> sums(pieces);
  const auto sum_pieces = [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (!sums[i]) sums[i] = sum_on(bytes.substr(i * kSharedPiece, kSharedPiece), 0);
    }
  };
  parallel.run(static_cast<int64_t>(pieces), kSharedPieceNs, sum_pieces);
  sum_pieces(0, static_cast<int64_t>(pieces));  // those that were skipped because the step is to stop
  static const Shift kOne = shift_by(kSharedPiece);
  uint32_t crc = ~0u;
  for (const std::optional<uint32_t>& sum : sums) crc = shifted(kOne, crc) ^ *sum;
  return ~sum_on(bytes.substr(pieces * kSharedPiece), crc);
}

}  // namespace emplace
