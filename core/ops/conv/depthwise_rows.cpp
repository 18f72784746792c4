#include "core/ops/conv/depthwise_rows.h"

#include <algorithm>

#include "core/ops/kit/isa.h"

namespace emplace {
namespace {

/// The taps that some pixels see: rows by columns, with the distances between them.
template <class T>
struct SeenWindow {
  int64_t rows, cols, channels;
  const T *in, *filter;  // of the first pixel's first tap
  int64_t in_row, in_tap, pixel,
      filter_row;  // elements from a row of taps to the next, from tap to tap, from pixel to pixel
};

// `kPixels` pixels, `kVectors` vectors of channels from `first` on.
template <class T, int kPixels, int kVectors, int kLanes>
EMPLACE_INLINE void add_taps(const SeenWindow<T>& w, int64_t first, T* out) {
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));
  typedef T Unaligned __attribute__((vector_size(kLanes * sizeof(T)), aligned(alignof(T)), may_alias));
  Vector sums[kPixels][kVectors];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[p][v] = Vector{};
  }
  const T *in_row = w.in + first, *filter_row = w.filter + first;
  for (int64_t row = 0; row < w.rows; ++row, in_row += w.in_row, filter_row += w.filter_row) {
    const T *tap = in_row, *filter = filter_row;
    for (int64_t col = 0; col < w.cols; ++col, tap += w.in_tap, filter += w.channels) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Vector f = *reinterpret_cast<const Unaligned*>(filter + v * kLanes);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p)
          sums[p][v] += *reinterpret_cast<const Unaligned*>(tap + p * w.pixel + v * kLanes) * f;
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      *reinterpret_cast<Unaligned*>(out + p * w.channels + first + v * kLanes) = sums[p][v];
  }
}

// Channels from `c` on, which do not fill a vector: as few narrower ones as will do. The last reaches back over
// channels that have their sums already, and makes these once more.
template <class T, int kPixels, int kLanes>
EMPLACE_INLINE void remaining_channels(const SeenWindow<T>& w, int64_t c, T* out) {
  if constexpr (kLanes == 1) {
    add_taps<T, kPixels, 1, 1>(w, c, out);
  } else {
    const int64_t left = w.channels - c;
    if (left > kLanes / 2 && w.channels >= kLanes) {
      add_taps<T, kPixels, 1, kLanes>(w, w.channels - kLanes, out);
      return;
    }
    if (left >= kLanes / 2) {
      add_taps<T, kPixels, 1, kLanes / 2>(w, c, out);
      c += kLanes / 2;
    }
    if (c < w.channels) remaining_channels<T, kPixels, kLanes / 2>(w, c, out);
  }
}

// All channels of `kPixels` pixels. A pixel alone takes several vectors at once, so that the additions need not wait
// for each other.
template <class T, int kPixels, int kLanes>
EMPLACE_INLINE void convolve_pixels(const SeenWindow<T>& w, T* out) {
  constexpr int kVectors = kPixels == 1 ? 4 : 1;
  int64_t c = 0;
  for (; c + kVectors * kLanes <= w.channels; c += kVectors * kLanes) add_taps<T, kPixels, kVectors, kLanes>(w, c, out);
  if constexpr (kVectors > 1) {
    for (; c + kLanes <= w.channels; c += kLanes) add_taps<T, kPixels, 1, kLanes>(w, c, out);
  }
  if (c < w.channels) remaining_channels<T, kPixels, kLanes>(w, c, out);
}

int64_t ceil_of(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

template <class T, int kLanes>
EMPLACE_INLINE void row_of_pixels(const ConvShape& s, const T* image, const T* filter, int64_t y, T* out) {
  const int64_t channels = s.in_c, line = s.in_w * channels;
  const int64_t top = y * s.stride_h - s.pad_top;
  const int64_t first_row = std::min(s.window_h, ceil_of(-top, s.dilation_h)),
                last_row = std::clamp(ceil_of(s.in_h - top, s.dilation_h), first_row, s.window_h);
  SeenWindow<T> w{last_row - first_row,
                  s.window_w,
                  channels,
                  nullptr,
                  nullptr,
                  s.dilation_h * line,
                  s.dilation_w * channels,
                  s.stride_w * channels,
                  s.window_w * channels};
  const T* rows = image + (top + first_row * s.dilation_h) * line;
  const T* filter_rows = filter + first_row * w.filter_row;
  // Pixels [inside, outside) see all columns of the window.
  const int64_t inside = std::min(s.out_w, ceil_of(s.pad_left, s.stride_w)),
                outside = std::clamp(ceil_of(s.in_w + s.pad_left - (s.window_w - 1) * s.dilation_w, s.stride_w), inside,
                                     s.out_w);
  for (int64_t x = 0; x < s.out_w;) {
    const int64_t left = x * s.stride_w - s.pad_left;
    w.in = rows + left * channels;
    w.filter = filter_rows;
    T* to = out + x * channels;
    if (x < inside || x >= outside) {
      const int64_t first = std::min(s.window_w, ceil_of(-left, s.dilation_w)),
                    last = std::clamp(ceil_of(s.in_w - left, s.dilation_w), first, s.window_w);
      w.cols = last - first;
      w.in += first * w.in_tap;
      w.filter += first * channels;
      convolve_pixels<T, 1, kLanes>(w, to);
      w.cols = s.window_w;
      ++x;
    } else if (x + 8 <= outside) {
      convolve_pixels<T, 8, kLanes>(w, to);
      x += 8;
    } else if (x + 4 <= outside) {
      convolve_pixels<T, 4, kLanes>(w, to);
      x += 4;
    } else {
      convolve_pixels<T, 1, kLanes>(w, to);
      ++x;
    }
  }
}
template <class T>
void row_of_pixels_base(const ConvShape& s, const T* image, const T* filter, int64_t y, T* out) {
  row_of_pixels<T, 16 / sizeof(T)>(s, image, filter, y, out);
}
template <class T>
EMPLACE_TARGET_V3 void row_of_pixels_v3(const ConvShape& s, const T* image, const T* filter, int64_t y, T* out) {
  row_of_pixels<T, 32 / sizeof(T)>(s, image, filter, y, out);
}
template <class T>
EMPLACE_TARGET_V4 void row_of_pixels_v4(const ConvShape& s, const T* image, const T* filter, int64_t y, T* out) {
  row_of_pixels<T, 64 / sizeof(T)>(s, image, filter, y, out);
}

}  // namespace

template <class T>
DepthwiseRow<T> depthwise_row() {
  return for_isa<DepthwiseRow<T>>(row_of_pixels_base<T>, row_of_pixels_v3<T>, row_of_pixels_v4<T>);
}

template DepthwiseRow<float> depthwise_row();
template DepthwiseRow<double> depthwise_row();

}  // namespace emplace
