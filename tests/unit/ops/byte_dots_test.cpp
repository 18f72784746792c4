// The byte tiles by AVX-VNNI and AVX512-VNNI, the loops of the program themselves, with each of their intrinsics
// replaced by plain C++ that does what Intel's manual says of it: for processors that lack them.
#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/ops/gemm/byte_tile.h"

#ifdef __x86_64__
#include <immintrin.h>  // before its names are replaced
#endif

namespace {

template <int N>
struct Lanes {
  std::array<int32_t, N> of;
};
using Lanes8 = Lanes<8>;
using Lanes16 = Lanes<16>;

bool all_aligned = true;  // the processor ends the program otherwise

template <class L>
L loaded(const void* from) {
  L v;
  std::memcpy(v.of.data(), from, sizeof v.of);
  return v;
}
template <class L>
L loaded_aligned(const void* from) {
  all_aligned &= reinterpret_cast<uintptr_t>(from) % sizeof(L) == 0;
  return loaded<L>(from);
}
template <class L>
void stored(void* to, const L& v) {
  std::memcpy(to, v.of.data(), sizeof v.of);
}
template <class L>
L of_one(int32_t number) {
  L v;
  v.of.fill(number);
  return v;
}

// VPDPBUSD: four products of an unsigned byte of the first and a signed byte of the second, and what was there; wraps.
template <class L>
L dots(L sums, const L& unsigned_bytes, const L& signed_bytes) {
  for (size_t i = 0; i < sums.of.size(); ++i) {
    uint8_t a[4];
    int8_t b[4];
    std::memcpy(a, &unsigned_bytes.of[i], sizeof a);
    std::memcpy(b, &signed_bytes.of[i], sizeof b);
    auto sum = static_cast<uint32_t>(sums.of[i]);
    for (int k = 0; k < 4; ++k) sum += static_cast<uint32_t>(a[k] * b[k]);
    sums.of[i] = static_cast<int32_t>(sum);
  }
  return sums;
}

}  // namespace

#define EMPLACE_TARGET_AVX_VNNI
#define EMPLACE_TARGET_AVX512_VNNI
#define __m256i Lanes8
#define _mm256_load_si256 loaded_aligned<Lanes8>
#define _mm256_loadu_si256 loaded<Lanes8>
#define _mm256_set1_epi32 of_one<Lanes8>
#define _mm256_dpbusd_avx_epi32 dots<Lanes8>
#define _mm256_storeu_si256 stored<Lanes8>
#define __m512i Lanes16
#define _mm512_load_si512 loaded_aligned<Lanes16>
#define _mm512_loadu_si512 loaded<Lanes16>
#define _mm512_set1_epi32 of_one<Lanes16>
#define _mm512_dpbusd_epi32 dots<Lanes16>
#define _mm512_storeu_si512 stored<Lanes16>
#include "core/ops/gemm/byte_dot_tiles.h"
#undef __m256i
#undef _mm256_load_si256
#undef _mm256_loadu_si256
#undef _mm256_set1_epi32
#undef _mm256_dpbusd_avx_epi32
#undef _mm256_storeu_si256
#undef __m512i
#undef _mm512_load_si512
#undef _mm512_loadu_si512
#undef _mm512_set1_epi32
#undef _mm512_dpbusd_epi32
#undef _mm512_storeu_si512

using namespace emplace;

namespace {

struct TileCase {
  int rows, panels;
  int64_t taps, depth;
  std::vector<std::vector<uint8_t>> a;  // [tap * rows + row], exactly what a tile may read
  std::vector<int8_t> b;                // [step][column][4]
  std::vector<int32_t> start;
  int width() const { return panels * gemm::kByteCols; }
};

// Mostly the ends of what a byte holds: sums of two products that 16 bits do not hold, sums that wrap at 32.
uint8_t extreme(std::mt19937& random) {
  constexpr uint8_t kEnds[] = {0, 1, 127, 128, 129, 254, 255};
  return random() % 3 == 0 ? static_cast<uint8_t>(random()) : kEnds[random() % std::size(kEnds)];
}

TileCase drawn_tile(std::mt19937& random, int rows, int panels) {
  TileCase c{rows, panels, 1, 1, {}, {}, {}};
  c.taps += static_cast<int64_t>(random() % 4), c.depth += static_cast<int64_t>(random() % 7);
  const auto steps = static_cast<size_t>(c.taps * c.depth);
  c.a.resize(static_cast<size_t>(c.taps) * static_cast<size_t>(rows));
  for (auto& row : c.a) {
    row.resize(static_cast<size_t>(c.depth * gemm::kBytesAtOnce));
    for (uint8_t& v : row) v = extreme(random);
  }
  c.b.resize(steps * static_cast<size_t>(c.width() * gemm::kBytesAtOnce));
  for (int8_t& v : c.b) v = static_cast<int8_t>(extreme(random));
  c.start.resize(static_cast<size_t>(c.width()));
  for (int32_t& v : c.start) v = random() % 2 == 0 ? INT32_MAX : static_cast<int32_t>(random());
  return c;
}

std::vector<int32_t> plain(const TileCase& t) {
  std::vector<int32_t> c;
  for (int i = 0; i < t.rows; ++i) {
    for (int j = 0; j < t.width(); ++j) {
      int64_t sum = t.start[static_cast<size_t>(j)];
      for (int64_t k = 0; k < t.taps * t.depth * gemm::kBytesAtOnce; ++k) {
        const int64_t of_tap = t.depth * gemm::kBytesAtOnce, step = k / gemm::kBytesAtOnce;
        sum += t.a[static_cast<size_t>(k / of_tap * t.rows + i)][static_cast<size_t>(k % of_tap)] *
               t.b[static_cast<size_t>((step * t.width() + j) * gemm::kBytesAtOnce + k % gemm::kBytesAtOnce)];
      }
      c.push_back(static_cast<int32_t>(static_cast<uint32_t>(sum)));
    }
  }
  return c;
}

std::vector<int32_t> made(const TileCase& t, void (*tile)(const gemm::ByteTileArgs&)) {
  constexpr int64_t kStride = gemm::kByteRows + 1;
  std::vector<const uint8_t*> rows(static_cast<size_t>(t.taps * kStride));
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    for (int i = 0; i < t.rows; ++i)
      rows[static_cast<size_t>(tap * kStride + i)] = t.a[static_cast<size_t>(tap * t.rows + i)].data();
  }
  alignas(64) static int8_t b[4 * 7 * gemm::kBytePanels * gemm::kByteCols * gemm::kBytesAtOnce];
  std::copy(t.b.begin(), t.b.end(), b);
  std::vector<int32_t> c(static_cast<size_t>(t.rows * t.width()));
  tile({t.rows, t.panels, t.taps, t.depth, rows.data(), kStride, b, t.start.data(), c.data()});
  return c;
}

}  // namespace

TEST_CASE("the tiles by instructions that sum four products of bytes are exact") {
  std::mt19937 random(14);
  for (int i = 0; i < 4 * gemm::kByteRows * gemm::kBytePanels; ++i) {
    const TileCase t = drawn_tile(random, 1 + i % gemm::kByteRows, 1 + i / gemm::kByteRows % gemm::kBytePanels);
    CAPTURE(i, t.rows, t.panels, t.taps, t.depth);
    const std::vector<int32_t> want = plain(t);
    CHECK(made(t, gemm::tile_avx_vnni) == want);
    CHECK(made(t, gemm::tile_avx512_vnni) == want);
  }
  CHECK(all_aligned);
}
