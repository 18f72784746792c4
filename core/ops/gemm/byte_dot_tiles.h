/// Byte tiles (byte_tile.h) by the instructions that sum four products of bytes: AVX-VNNI and AVX512-VNNI. For
/// byte_tile.cpp, and for a test that runs these very loops where no processor has the instructions, with the
/// intrinsics named here replaced. Whoever includes it includes byte_tile.h, and says how the functions are compiled:
/// EMPLACE_TARGET_*.
#pragma once

#include <cstring>
#include <utility>

#ifdef EMPLACE_TARGET_AVX_VNNI
namespace emplace::gemm {
namespace {

constexpr int kDotPanelBytes = kByteCols * kBytesAtOnce;

// AVX-VNNI: four products at a time, 8 columns.

template <int R>
EMPLACE_TARGET_AVX_VNNI void dots_of_panel(const ByteTileArgs& t, int panel) {
  __m256i sums[R][2];
  const auto* start = reinterpret_cast<const __m256i*>(t.start + panel * kByteCols);
  for (auto& row : sums) row[0] = _mm256_loadu_si256(start), row[1] = _mm256_loadu_si256(start + 1);
  const int8_t* b = static_cast<const int8_t*>(t.b) + panel * kDotPanelBytes;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint8_t* a[R];
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) a[i] = t.row_pointers[tap * t.row_pointer_stride + i];
    for (int64_t k = 0; k < t.depth; ++k, b += t.panels * kDotPanelBytes) {
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

// AVX512-VNNI: four products at a time, all columns of the tile in registers.

template <int R, int P>
EMPLACE_TARGET_AVX512_VNNI void wide_dots(const ByteTileArgs& t) {
  __m512i sums[R][P];
  for (auto& row : sums) {
    for (int p = 0; p < P; ++p) row[p] = _mm512_loadu_si512(t.start + p * kByteCols);
  }
  const auto* b = static_cast<const int8_t*>(t.b);
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint8_t* a[R];
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) a[i] = t.row_pointers[tap * t.row_pointer_stride + i];
    for (int64_t k = 0; k < t.depth; ++k, b += P * kDotPanelBytes) {
      __m512i row[P];
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) row[p] = _mm512_load_si512(b + p * kDotPanelBytes);
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
  static constexpr void (*kOf[])(const ByteTileArgs&) = {&wide_dots<At / kBytePanels + 1, At % kBytePanels + 1>...};
  kOf[(t.rows - 1) * kBytePanels + t.panels - 1](t);
}
void tile_avx512_vnni(const ByteTileArgs& t) {
  tile_avx512_vnni_of(t, std::make_index_sequence<kByteRows * kBytePanels>());
}

}  // namespace
}  // namespace emplace::gemm
#endif
