#include "core/ops/gemm/byte_tile.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/kept_by_thread.h"
#include "core/ops/kit/byte_dots.h"
#include "core/ops/kit/isa.h"

#ifdef __x86_64__
#include <immintrin.h>

#define EMPLACE_TARGET_AVX_VNNI __attribute__((target("arch=x86-64-v3,avxvnni")))
#define EMPLACE_TARGET_AVX512_VNNI __attribute__((target("arch=x86-64-v4,avx512vnni")))
#include "core/ops/gemm/byte_dot_tiles.h"
#endif

namespace emplace::gemm {
namespace {

constexpr int kPanelBytes = kByteCols * kBytesAtOnce;

void tile_base(const ByteTileArgs& t) {
  const int width = t.panels * kByteCols;
  for (int i = 0; i < t.rows; ++i) std::copy_n(t.start, width, t.c + i * width);
  const auto* b = static_cast<const int8_t*>(t.b);
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint8_t* const* rows = t.row_pointers + tap * t.row_pointer_stride;
    for (int64_t k = 0; k < t.depth; ++k, b += t.panels * kPanelBytes) {
      for (int i = 0; i < t.rows; ++i) {
        const uint8_t* a = rows[i] + k * kBytesAtOnce;
        int32_t* c = t.c + i * width;
        for (int j = 0; j < width; ++j) {
          const int8_t* four = b + j * kBytesAtOnce;
          const int sum = a[0] * four[0] + a[1] * four[1] + a[2] * four[2] + a[3] * four[3];
          c[j] = static_cast<int32_t>(static_cast<uint32_t>(c[j]) + static_cast<uint32_t>(sum));
        }
      }
    }
  }
}

#ifdef __x86_64__
// AVX2: bytes widened to 16 bits, of which two products at a time are summed exactly.

constexpr int kStrip = kByteCols / kWideStrips, kStripNumbers = kStrip * kBytesAtOnce;
static_assert(kStripNumbers == 32);

EMPLACE_TARGET_V3 inline void widen(const uint8_t* from, int64_t n, int16_t* to) {
  int64_t k = 0;
  for (; k + 16 <= n; k += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + k), _mm256_cvtepu8_epi16(bytes));
  }
  for (; k < n; ++k) to[k] = from[k];
}

/// Two sums of each of 8 columns become one; these lie in c.
EMPLACE_TARGET_V3 inline void store_columns(__m256i low, __m256i high, __m256i start, int32_t* c) {
  const __m256i both = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xD8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(c), _mm256_add_epi32(both, start));
}

/// R rows of `length` numbers by a strip of b.
template <int R>
EMPLACE_TARGET_V3 void pairs_of_strip(const int16_t* a, int64_t length, const int16_t* b, const int32_t* start,
                                      int64_t width, int32_t* c) {
  __m256i low[R], high[R];
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i) low[i] = high[i] = _mm256_setzero_si256();
  for (int64_t k = 0; k < length; k += kBytesAtOnce, b += kStripNumbers) {
    const __m256i first = _mm256_load_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i second = _mm256_load_si256(reinterpret_cast<const __m256i*>(b) + 1);
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) {
      int64_t four;
      std::memcpy(&four, a + i * length + k, sizeof four);
      const __m256i x = _mm256_set1_epi64x(four);
      low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(x, first));
      high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(x, second));
      // Keeps g++ 12 from making all products first, for which there are no registers: 75 products a ns, not 48.
      __asm__("" : "+x"(low[i]), "+x"(high[i]));
    }
  }
  const __m256i begin = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(start));
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i) store_columns(low[i], high[i], begin, c + i * width);
}

template <size_t... R>
void tile_avx2_of(const ByteTileArgs& t, std::index_sequence<R...>) {
  static constexpr decltype(&pairs_of_strip<1>) kByRows[] = {&pairs_of_strip<R + 1>...};
  static constinit thread_local KeptByThread<std::vector<int16_t>> kept_a;
  auto& a = kept_a.get();
  const int64_t of_tap = t.depth * kBytesAtOnce, length = t.taps * of_tap;
  a.resize(static_cast<size_t>(t.rows * length));
  for (int i = 0; i < t.rows; ++i) {
    for (int64_t tap = 0; tap < t.taps; ++tap)
      widen(t.row_pointers[tap * t.row_pointer_stride + i], of_tap, a.data() + i * length + tap * of_tap);
  }
  const auto* b = static_cast<const int16_t*>(t.b);
  const int width = t.panels * kByteCols;
  for (int first = 0; first < width; first += kStrip, b += length * kStrip)
    kByRows[t.rows - 1](a.data(), length, b, t.start + first, width, t.c + first);
}
void tile_avx2(const ByteTileArgs& t) { tile_avx2_of(t, std::make_index_sequence<kByteRows>()); }

#endif

}  // namespace

int64_t ByteTile::place(int panels, int64_t steps, int64_t step, int64_t column) const {
  if (!wide) return (step * panels * kByteCols + column) * kBytesAtOnce;
  constexpr int64_t kStripCols = kByteCols / kWideStrips;
  return ((column / kStripCols * steps + step) * kStripCols + column % kStripCols) * kBytesAtOnce;
}

std::vector<ByteTile> byte_tiles() {
  std::vector<ByteTile> tiles;
#ifdef __x86_64__
  if (has_wide_byte_dots()) tiles.push_back({"avx512_vnni", tile_avx512_vnni});
  if (has_byte_dots()) tiles.push_back({"avx_vnni", tile_avx_vnni});
  if (isa() >= Isa::kV3) tiles.push_back({"avx2", tile_avx2, true});
#endif
  tiles.push_back({"base", tile_base});
  return tiles;
}

ByteTile byte_tile() { return byte_tiles().front(); }

}  // namespace emplace::gemm
