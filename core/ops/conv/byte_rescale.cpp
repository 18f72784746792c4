#include "core/ops/conv/byte_rescale.h"

#include <type_traits>

#include "core/ops/kit/isa.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace emplace {
namespace {

/// Of a pixel: channels [first, n).
template <class Y>
EMPLACE_INLINE void rescale_body(const int32_t* sums, const Rescaling& r, int64_t channel, int64_t first, int64_t n,
                                 Y* out) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves whole numbers, the nearest
  const float *scales = r.scales + channel, low = r.low, high = r.high;
  const auto* bias = reinterpret_cast<const uint32_t*>(r.bias + channel);
  const int32_t zero = r.zero;
#pragma GCC ivdep
  for (int64_t i = first; i < n; ++i) {
    const auto sum = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + bias[i]);
    float v = static_cast<float>(sum) * scales[i];
    v = v > low ? v : low;
    v = v < high ? v : high;
    v = (v + kRound) - kRound;
    out[i] = static_cast<Y>(static_cast<int32_t>(v) + zero);
  }
}

template <class Y>
void rescale_base(const ByteSums& s, const Rescaling& r, Y* out, int64_t channels) {
  for (int64_t p = 0; p < s.pixels; ++p) rescale_body(s.sums + p * s.stride, r, s.first, 0, s.cols, out + p * channels);
}

#ifdef __x86_64__
/// What `n` channels have in common; eight sums at a time.
struct EightSums {
  const float* scales;
  const int32_t* bias;
  __m256 low, high;
  __m256i zero;

  EMPLACE_TARGET_V3 explicit EightSums(const Rescaling& r, int64_t channel)
      : scales(r.scales + channel),
        bias(r.bias + channel),
        low(_mm256_set1_ps(r.low)),
        high(_mm256_set1_ps(r.high)),
        zero(_mm256_set1_epi32(r.zero)) {}

  /// As 32-bit numbers, which fit a byte.
  EMPLACE_TARGET_V3 __m256i operator()(const int32_t* sums, int64_t i) const {
    const __m256i sum = _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i)),
                                         _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bias + i)));
    // The order of operands decides what becomes of a NaN: the lower bound.
    __m256 v = _mm256_max_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(scales + i)), low);
    v = _mm256_min_ps(v, high);
    return _mm256_add_epi32(_mm256_cvtps_epi32(v), zero);
  }
};

/// 16 numbers of 16 bits that fit, as bytes.
template <class Y>
EMPLACE_TARGET_V3 inline __m128i as_bytes(__m256i of_16) {
  const __m128i low = _mm256_castsi256_si128(of_16), high = _mm256_extracti128_si256(of_16, 1);
  return std::is_signed_v<Y> ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high);
}

template <class Y>
EMPLACE_TARGET_V3 void rescale_v3(const ByteSums& s, const Rescaling& r, Y* out, int64_t channels) {
  const EightSums eight(r, s.first);
  for (int64_t p = 0; p < s.pixels; ++p) {
    const int32_t* sums = s.sums + p * s.stride;
    Y* to = out + p * channels;
    int64_t i = 0;
    for (; i + 16 <= s.cols; i += 16) {
      const __m256i both = _mm256_packs_epi32(eight(sums, i), eight(sums, i + 8));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), as_bytes<Y>(_mm256_permute4x64_epi64(both, 0xD8)));
    }
    for (; i + 8 <= s.cols; i += 8) {
      const __m256i one = eight(sums, i), both = _mm256_packs_epi32(one, one);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i), as_bytes<Y>(_mm256_permute4x64_epi64(both, 0xD8)));
    }
    rescale_body(sums, r, s.first, i, s.cols, to);
  }
}

template <class Y>
EMPLACE_TARGET_V4 void rescale_v4(const ByteSums& s, const Rescaling& r, Y* out, int64_t channels) {
  for (int64_t p = 0; p < s.pixels; ++p) rescale_body(s.sums + p * s.stride, r, s.first, 0, s.cols, out + p * channels);
}
#endif

}  // namespace

template <class Y>
RescaledSink<Y>::RescaledSink(Y* out, int64_t channels, const Rescaling& how)
    : out_(out), channels_(channels), how_(how) {
#ifdef __x86_64__
  code_ = for_isa(rescale_base<Y>, rescale_v3<Y>, rescale_v4<Y>);
#else
  code_ = rescale_base<Y>;
#endif
}

template <class Y>
void RescaledSink<Y>::take(const ByteSums& s) const {
  code_(s, how_, out_ + s.pixel * channels_ + s.first, channels_);
}

template class RescaledSink<int8_t>;
template class RescaledSink<uint8_t>;

}  // namespace emplace
