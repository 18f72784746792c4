#include "core/ops/gemm/byte_tile.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ops/kit/byte_dots.h"
#include "core/ops/kit/isa.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace emplace::gemm {
namespace {

constexpr int kPanelBytes = kByteCols * kBytesAtOnce;

void tile_base(const ByteTileArgs& t) {
  const int width = t.panels * kByteCols;
  std::memset(t.c, 0, sizeof(int32_t) * static_cast<size_t>(t.rows) * static_cast<size_t>(width));
  const int8_t* b = t.b;
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
#define EMPLACE_TARGET_AVX_VNNI __attribute__((target("arch=x86-64-v3,avxvnni")))
#define EMPLACE_TARGET_AVX512_VNNI __attribute__((target("arch=x86-64-v4,avx512vnni")))

// --- AVX2: bytes widened to 16 bits, of which two products at a time are summed exactly ---

constexpr int kRowsOfPairs = 3;  // 12 sums, a and b in 16 registers

template <int R>
EMPLACE_TARGET_V3 void pairs_of_panel(const ByteTileArgs& t, int first, int panel) {
  constexpr int kParts = 4;  // of 4 columns
  __m256i sums[R][kParts];
  for (auto& row : sums) {
    for (__m256i& s : row) s = _mm256_setzero_si256();
  }
  const int8_t* b = t.b + panel * kPanelBytes;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint8_t* const* rows = t.row_pointers + tap * t.row_pointer_stride + first;
    for (int64_t k = 0; k < t.depth; ++k, b += t.panels * kPanelBytes) {
      __m256i a[R];
#pragma GCC unroll 3
      for (int i = 0; i < R; ++i) {
        int32_t four;
        std::memcpy(&four, rows[i] + k * kBytesAtOnce, sizeof four);
        a[i] = _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(four)));
      }
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        const __m256i row =
            _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(b + p * kPanelBytes / kParts)));
#pragma GCC unroll 3
        for (int i = 0; i < R; ++i) sums[i][p] = _mm256_add_epi32(sums[i][p], _mm256_madd_epi16(a[i], row));
      }
    }
  }
  for (int i = 0; i < R; ++i) {
    int32_t* c = t.c + (first + i) * t.panels * kByteCols + panel * kByteCols;
    for (int p = 0; p < kParts; p += 2) {
      const __m256i both = _mm256_hadd_epi32(sums[i][p], sums[i][p + 1]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + p * 4), _mm256_permute4x64_epi64(both, 0xD8));
    }
  }
}

void tile_avx2(const ByteTileArgs& t) {
  for (int panel = 0; panel < t.panels; ++panel) {
    for (int first = 0; first < t.rows; first += kRowsOfPairs) {
      const int rows = std::min(kRowsOfPairs, t.rows - first);
      (rows == 3 ? pairs_of_panel<3> : rows == 2 ? pairs_of_panel<2> : pairs_of_panel<1>)(t, first, panel);
    }
  }
}

// --- AVX-VNNI: four products at a time, 8 columns ---

template <int R>
EMPLACE_TARGET_AVX_VNNI void dots_of_panel(const ByteTileArgs& t, int panel) {
  __m256i sums[R][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_si256();
  const int8_t* b = t.b + panel * kPanelBytes;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint8_t* a[R];
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) a[i] = t.row_pointers[tap * t.row_pointer_stride + i];
    for (int64_t k = 0; k < t.depth; ++k, b += t.panels * kPanelBytes) {
      const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(b));
      const __m256i high = _mm256_load_si256(reinterpret_cast<const __m256i*>(b) + 1);
#pragma GCC unroll 6
      for (int i = 0; i < R; ++i) {
        int32_t four;
        std::memcpy(&four, a[i] + k * kBytesAtOnce, sizeof four);
        const __m256i x = _mm256_set1_epi32(four);
        sums[i][0] = _mm256_dpbusd_avx_epi32(sums[i][0], x, low);
        sums[i][1] = _mm256_dpbusd_avx_epi32(sums[i][1], x, high);
      }
    }
  }
  for (int i = 0; i < R; ++i) {
    auto* c = reinterpret_cast<__m256i*>(t.c + i * t.panels * kByteCols + panel * kByteCols);
    _mm256_storeu_si256(c, sums[i][0]);
    _mm256_storeu_si256(c + 1, sums[i][1]);
  }
}

template <size_t... R>
void tile_avx_vnni_of(const ByteTileArgs& t, std::index_sequence<R...>) {
  static constexpr void (*kByRows[])(const ByteTileArgs&, int) = {&dots_of_panel<R + 1>...};
  for (int panel = 0; panel < t.panels; ++panel) kByRows[t.rows - 1](t, panel);
}
void tile_avx_vnni(const ByteTileArgs& t) { tile_avx_vnni_of(t, std::make_index_sequence<kByteRows>()); }

// --- AVX512-VNNI: four products at a time, all columns of the tile in registers ---

template <int R, int P>
EMPLACE_TARGET_AVX512_VNNI void wide_dots(const ByteTileArgs& t) {
  __m512i sums[R][P];
  for (auto& row : sums) {
    for (__m512i& s : row) s = _mm512_setzero_si512();
  }
  const int8_t* b = t.b;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint8_t* a[R];
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) a[i] = t.row_pointers[tap * t.row_pointer_stride + i];
    for (int64_t k = 0; k < t.depth; ++k, b += P * kPanelBytes) {
      __m512i row[P];
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) row[p] = _mm512_load_si512(b + p * kPanelBytes);
#pragma GCC unroll 6
      for (int i = 0; i < R; ++i) {
        int32_t four;
        std::memcpy(&four, a[i] + k * kBytesAtOnce, sizeof four);
        const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) sums[i][p] = _mm512_dpbusd_epi32(sums[i][p], x, row[p]);
      }
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int p = 0; p < P; ++p) _mm512_storeu_si512(t.c + (i * P + p) * kByteCols, sums[i][p]);
  }
}

template <size_t... At>
void tile_avx512_vnni_of(const ByteTileArgs& t, std::index_sequence<At...>) {
  static constexpr ByteTile kOf[] = {&wide_dots<At / kBytePanels + 1, At % kBytePanels + 1>...};
  kOf[(t.rows - 1) * kBytePanels + t.panels - 1](t);
}
void tile_avx512_vnni(const ByteTileArgs& t) {
  tile_avx512_vnni_of(t, std::make_index_sequence<kByteRows * kBytePanels>());
}
#endif

}  // namespace

ByteTile byte_tile() {
#ifdef __x86_64__
  if (has_wide_byte_dots()) return tile_avx512_vnni;
  if (has_byte_dots()) return tile_avx_vnni;
  if (isa() >= Isa::kV3) return tile_avx2;
#endif
  return tile_base;
}

std::vector<NamedByteTile> byte_tiles() {
  std::vector<NamedByteTile> tiles;
#ifdef __x86_64__
  if (has_wide_byte_dots()) tiles.push_back({"avx512_vnni", tile_avx512_vnni});
  if (has_byte_dots()) tiles.push_back({"avx_vnni", tile_avx_vnni});
  if (isa() >= Isa::kV3) tiles.push_back({"avx2", tile_avx2});
#endif
  tiles.push_back({"base", tile_base});
  return tiles;
}

}  // namespace emplace::gemm
