#include "core/ops/conv/byte_channels.h"

#include <algorithm>
#include <type_traits>

#include "core/ops/kit/isa.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace emplace {
namespace {

/// What a pixel sees of its window.
struct SeenChannels {
  int64_t pairs, channels;
  const uint8_t* const* taps;  // two for each pair
  const int16_t* filter;       // pair after pair: two numbers for each channel
  const int32_t* start;        // what the sums begin with
};

template <class X>
EMPLACE_INLINE void sum_channels_from(const SeenChannels& seen, int64_t first, int32_t* sums) {
  for (int64_t i = first; i < seen.channels; ++i) {
    auto sum = static_cast<uint32_t>(seen.start[i]);
    for (int64_t p = 0; p < seen.pairs; ++p) {
      const auto a = static_cast<X>(seen.taps[2 * p][i]), b = static_cast<X>(seen.taps[2 * p + 1][i]);
      const int16_t* filter = seen.filter + 2 * (p * seen.channels + i);
      sum += static_cast<uint32_t>(a * filter[0] + b * filter[1]);
    }
    sums[i] = static_cast<int32_t>(sum);
  }
}
template <class X>
void sum_channels_base(const SeenChannels& seen, int32_t* sums) {
  sum_channels_from<X>(seen, 0, sums);
}

#ifdef __x86_64__
/// Eight channels of two taps, side by side.
template <class X>
EMPLACE_TARGET_V3 inline __m256i eight_pairs(const uint8_t* a, const uint8_t* b) {
  const __m128i both = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(a)),
                                         _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b)));
  return std::is_signed_v<X> ? _mm256_cvtepi8_epi16(both) : _mm256_cvtepu8_epi16(both);
}

template <class X>
EMPLACE_TARGET_V3 void sum_channels_v3(const SeenChannels& seen, int32_t* sums) {
  int64_t i = 0;
  for (; i + 8 <= seen.channels; i += 8) {
    __m256i sum = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(seen.start + i));
    const int16_t* filter = seen.filter + 2 * i;
    for (int64_t p = 0; p < seen.pairs; ++p, filter += 2 * seen.channels) {
      const __m256i both = eight_pairs<X>(seen.taps[2 * p] + i, seen.taps[2 * p + 1] + i);
      sum =
          _mm256_add_epi32(sum, _mm256_madd_epi16(both, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(filter))));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + i), sum);
  }
  sum_channels_from<X>(seen, i, sums);
}

constexpr __mmask16 kAll = 0xFFFF;  // what is not masked is "uninitialized" to this compiler

template <class X>
EMPLACE_TARGET_V4 inline __m512i sixteen(const uint8_t* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return std::is_signed_v<X> ? _mm512_maskz_cvtepi8_epi32(kAll, bytes) : _mm512_maskz_cvtepu8_epi32(kAll, bytes);
}

template <class X>
EMPLACE_TARGET_V4 void sum_channels_v4(const SeenChannels& seen, int32_t* sums) {
  int64_t i = 0;
  for (; i + 16 <= seen.channels; i += 16) {
    __m512i sum = _mm512_loadu_si512(seen.start + i);
    for (int64_t p = 0; p < seen.pairs; ++p) {
      const __m512i a = sixteen<X>(seen.taps[2 * p] + i), b = sixteen<X>(seen.taps[2 * p + 1] + i);
      const __m512i both = _mm512_mask_blend_epi16(0xAAAAAAAA, a, _mm512_maskz_slli_epi32(kAll, b, 16));
      const int16_t* filter = seen.filter + 2 * (p * seen.channels + i);
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(both, _mm512_loadu_si512(filter)));
    }
    _mm512_storeu_si512(sums + i, sum);
  }
  sum_channels_from<X>(seen, i, sums);
}
#endif

template <class X>
auto sum_channels() {
#ifdef __x86_64__
  return for_isa(sum_channels_base<X>, sum_channels_v3<X>, sum_channels_v4<X>);
#else
  return sum_channels_base<X>;
#endif
}

}  // namespace

ByteChannels::ByteChannels(const ConvShape& shape, bool image_signed, bool filter_signed)
    : shape_(shape), image_signed_(image_signed), filter_signed_(filter_signed) {
  for (int64_t i = 0; i < shape.window_h; ++i) {
    for (int64_t j = 0; j < shape.window_w; ++j)
      offsets_.push_back((i * shape.dilation_h * shape.in_w + j * shape.dilation_w) * shape.in_c);
  }
}

void ByteChannels::pack(const uint8_t* filter, const std::vector<int32_t>& zeros, int8_t* packed) {
  const int64_t channels = shape_.out_c;
  auto* to = reinterpret_cast<int16_t*>(packed);
  std::fill_n(to, pairs() * 2 * channels, int16_t{0});
  sums_.assign(static_cast<size_t>(channels), 0);
  for (int64_t tap = 0; tap < shape_.taps(); ++tap) {
    for (int64_t c = 0; c < channels; ++c) {
      const uint8_t byte = filter[tap * channels + c];
      const int value = (filter_signed_ ? static_cast<int8_t>(byte) : byte) - zeros[static_cast<size_t>(c)];
      to[(tap / 2 * channels + c) * 2 + tap % 2] = static_cast<int16_t>(value);
      sums_[static_cast<size_t>(c)] += value;
    }
  }
}

void ByteChannels::point(const uint8_t* image, const uint8_t* border, int64_t pixel,
                         std::vector<const uint8_t*>& taps) const {
  const ConvShape& s = shape_;
  const int64_t x = pixel % s.out_w, y = pixel / s.out_w % s.out_h, n = pixel / (s.out_w * s.out_h);
  const int64_t row = y * s.stride_h - s.pad_top, col = x * s.stride_w - s.pad_left;
  const int64_t last_row = row + (s.window_h - 1) * s.dilation_h, last_col = col + (s.window_w - 1) * s.dilation_w;
  const int64_t first = ((n * s.in_h + row) * s.in_w + col) * s.in_c;
  const bool inside = row >= 0 && col >= 0 && last_row < s.in_h && last_col < s.in_w;
  for (size_t t = 0; t < offsets_.size(); ++t) {
    bool seen = inside;
    if (!inside) {
      const auto tap = static_cast<int64_t>(t);
      const int64_t r = row + tap / s.window_w * s.dilation_h, c = col + tap % s.window_w * s.dilation_w;
      seen = r >= 0 && r < s.in_h && c >= 0 && c < s.in_w;
    }
    taps[t] = seen ? image + (first + offsets_[t]) : border;
  }
}

void ByteChannels::run(Parallel& parallel, const uint8_t* image, int zero, const int8_t* packed,
                       const ByteSink& sink) const {
  const int64_t channels = shape_.out_c;
  const auto code = image_signed_ ? sum_channels<int8_t>() : sum_channels<uint8_t>();
  const std::vector<uint8_t> border(static_cast<size_t>(channels), static_cast<uint8_t>(zero));
  std::vector<int32_t> start(sums_.size());
  for (size_t c = 0; c < start.size(); ++c)
    start[c] = static_cast<int32_t>(-static_cast<uint32_t>(zero) * static_cast<uint32_t>(sums_[c]));
  const double pixel_ns = 10 + static_cast<double>(shape_.taps() * channels) * 0.02;
  parallel.run(shape_.pixels(), pixel_ns, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> sums(static_cast<size_t>(channels));
    std::vector<const uint8_t*> taps(static_cast<size_t>(2 * pairs()), border.data());
    const SeenChannels seen{pairs(), channels, taps.data(), reinterpret_cast<const int16_t*>(packed), start.data()};
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      point(image, border.data(), pixel, taps);
      code(seen, sums.data());
      sink.take({sums.data(), channels, pixel, 1, 0, channels});
    }
  });
}

}  // namespace emplace
