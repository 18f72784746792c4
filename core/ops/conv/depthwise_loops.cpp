#include "core/ops/conv/depthwise_loops.h"

#include <algorithm>

namespace emplace {
namespace {

// Calls body(tap, pixel of the input) for the taps of one output pixel that lie in the image.
template <class F>
void for_each_tap(const ConvShape& s, int64_t n, int64_t oh, int64_t ow, const F& body) {
  for (int64_t kh = 0; kh < s.window_h; ++kh) {
    int64_t ih = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
    if (ih < 0 || ih >= s.in_h) continue;
    for (int64_t kw = 0; kw < s.window_w; ++kw) {
      int64_t iw = ow * s.stride_w - s.pad_left + kw * s.dilation_w;
      if (iw < 0 || iw >= s.in_w) continue;
      body(kh * s.window_w + kw, (n * s.in_h + ih) * s.in_w + iw);
    }
  }
}

template <class T>
void conv_pixel(const ConvShape& s, const T* in, const T* filter, int64_t n, int64_t oh, int64_t ow, T* out) {
  std::fill_n(out, s.out_c, T(0));
  int64_t multiplier = s.out_c / s.in_c;
  for_each_tap(s, n, oh, ow, [&](int64_t tap, int64_t pixel) {
    const T* x = in + pixel * s.in_c;
    const T* f = filter + tap * s.out_c;
    for (int64_t c = 0; c < s.in_c; ++c) {
      for (int64_t m = 0; m < multiplier; ++m) out[c * multiplier + m] += x[c] * f[c * multiplier + m];
    }
  });
}

double row_ns(const ConvShape& s) { return static_cast<double>(s.out_w * s.out_c * s.taps()) * 0.15; }

}  // namespace

template <class T>
void depthwise_conv(Parallel& parallel, DepthwiseRow<T> row_code, const ConvShape& s, const T* in, const T* filter,
                    T* out, RowSink* sink) {
  const bool single = s.out_c == s.in_c;
  const int64_t line = s.out_w * s.out_c;
  parallel.run(s.batch * s.out_h, single ? row_ns(s) * 0.3 : row_ns(s), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / s.out_h, y = row % s.out_h;
      if (single) {
        row_code(s, in + n * s.in_h * s.in_w * s.in_c, filter, y, out + row * line);
      } else {
        for (int64_t x = 0; x < s.out_w; ++x) conv_pixel(s, in, filter, n, y, x, out + row * line + x * s.out_c);
      }
      if (sink) sink->finished(row * s.out_w, s.out_w);
    }
  });
}

template <class T>
void depthwise_input_gradient(Parallel& parallel, const ConvShape& s, const T* out_gradient, const T* filter,
                              T* in_gradient) {
  int64_t multiplier = s.in_c > 0 ? s.out_c / s.in_c : 0;
  parallel.run(s.batch, row_ns(s) * static_cast<double>(s.out_h), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      std::fill_n(in_gradient + n * s.in_h * s.in_w * s.in_c, s.in_h * s.in_w * s.in_c, T(0));
      for (int64_t o = 0; o < s.out_h * s.out_w; ++o) {
        const T* dy = out_gradient + (n * s.out_h * s.out_w + o) * s.out_c;
        for_each_tap(s, n, o / s.out_w, o % s.out_w, [&](int64_t tap, int64_t pixel) {
          T* dx = in_gradient + pixel * s.in_c;
          const T* f = filter + tap * s.out_c;
          for (int64_t c = 0; c < s.in_c; ++c) {
            for (int64_t m = 0; m < multiplier; ++m) dx[c] += dy[c * multiplier + m] * f[c * multiplier + m];
          }
        });
      }
    }
  });
}

template <class T>
void depthwise_filter_gradient(Parallel& parallel, const ConvShape& s, const T* in, const T* out_gradient,
                               T* filter_gradient) {
  int64_t multiplier = s.in_c > 0 ? s.out_c / s.in_c : 0;
  // A piece owns whole rows of the window, so every sum is made by one thread in pixel order.
  parallel.run(s.window_h, row_ns(s) * static_cast<double>(s.batch * s.out_h), [&](int64_t begin, int64_t end) {
    std::fill_n(filter_gradient + begin * s.window_w * s.out_c, (end - begin) * s.window_w * s.out_c, T(0));
    for (int64_t o = 0; o < s.pixels(); ++o) {
      const T* dy = out_gradient + o * s.out_c;
      for_each_tap(s, o / s.out_w / s.out_h, o / s.out_w % s.out_h, o % s.out_w, [&](int64_t tap, int64_t pixel) {
        if (tap < begin * s.window_w || tap >= end * s.window_w) return;
        const T* x = in + pixel * s.in_c;
        T* df = filter_gradient + tap * s.out_c;
        for (int64_t c = 0; c < s.in_c; ++c) {
          for (int64_t m = 0; m < multiplier; ++m) df[c * multiplier + m] += x[c] * dy[c * multiplier + m];
        }
      });
    }
  });
}

template void depthwise_conv(Parallel&, DepthwiseRow<float>, const ConvShape&, const float*, const float*, float*,
                             RowSink*);
template void depthwise_conv(Parallel&, DepthwiseRow<double>, const ConvShape&, const double*, const double*, double*,
                             RowSink*);
template void depthwise_input_gradient(Parallel&, const ConvShape&, const float*, const float*, float*);
template void depthwise_input_gradient(Parallel&, const ConvShape&, const double*, const double*, double*);
template void depthwise_filter_gradient(Parallel&, const ConvShape&, const float*, const float*, float*);
template void depthwise_filter_gradient(Parallel&, const ConvShape&, const double*, const double*, double*);

}  // namespace emplace
