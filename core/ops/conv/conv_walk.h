/// ConvWalk: which pixels a convolution reads for each pixel that it writes. The gradient with respect to the input is
/// such a walk too: over the output's gradient, with the window turned around.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// One axis: the pixel read through `tap` is (written * step - pad + tap * reach) / divide, if that divides and lies in
/// the image.
struct ConvAxis {
  int64_t in = 0, out = 0, window = 0;
  int64_t step = 1, pad = 0, reach = 1, divide = 1;

  /// The pixel read, or -1.
  int64_t source(int64_t written, int64_t tap) const {
    int64_t at = written * step - pad + tap * reach;
    if (divide > 1) {
      if (at % divide != 0) return -1;
      at /= divide;
    }
    return at >= 0 && at < in ? at : -1;
  }
  /// Each written pixel reads the one in its place.
  bool pixel_by_pixel() const { return window == 1 && step == 1 && pad == 0 && divide == 1 && in == out; }
  /// Each tap of each written pixel reads a pixel of the image. REQUIRES: divide is 1.
  bool all_inside() const { return pad == 0 && (out - 1) * step + (window - 1) * reach < in; }
  /// Of what is written by what is read's stride: how many there are.
  int64_t remainders() const { return std::min(divide, out); }
  /// Consecutive taps read consecutive pixels.
  bool side_by_side() const { return reach == 1 && divide == 1; }
  /// Pairs of a written pixel and a tap that read a pixel of the image. REQUIRES: step is 1.
  int64_t pairs() const {
    int64_t count = 0;
    for (int64_t tap = 0; tap < window; ++tap) {
      const int64_t shift = tap * reach - pad;  // pixel r is read by r * divide - shift
      const int64_t first = shift <= 0 ? 0 : (shift + divide - 1) / divide;
      const int64_t last = out + shift <= 0 ? 0 : std::min(in, (out + shift + divide - 1) / divide);
      count += std::max<int64_t>(0, last - first);
    }
    return count;
  }
};

/// What is read is [batch, vertical.in, horizontal.in, in_c], what is written [batch, vertical.out, horizontal.out,
/// out_c]; a group reads `depth` channels and writes `group_out`.
struct ConvWalk {
  int64_t batch = 0, in_c = 0, out_c = 0, groups = 1, depth = 0, group_out = 0;
  ConvAxis vertical, horizontal;
  bool backward = false;  // taps count from the window's end

  int64_t taps() const { return vertical.window * horizontal.window; }
  int64_t area() const { return vertical.out * horizontal.out; }
  /// Each written pixel reads the one in its place, and no other.
  bool pixel_by_pixel() const { return vertical.pixel_by_pixel() && horizontal.pixel_by_pixel(); }

  static ConvWalk forward(const ConvShape& s) {
    int64_t groups = s.groups();
    return {s.batch,
            s.in_c,
            s.out_c,
            groups,
            s.filter_c,
            groups > 0 ? s.out_c / groups : 0,
            {s.in_h, s.out_h, s.window_h, s.stride_h, s.pad_top, s.dilation_h, 1},
            {s.in_w, s.out_w, s.window_w, s.stride_w, s.pad_left, s.dilation_w, 1},
            false};
  }
  static ConvWalk input_gradient(const ConvShape& s) {
    int64_t groups = s.groups();
    return {s.batch,
            s.out_c,
            s.in_c,
            groups,
            groups > 0 ? s.out_c / groups : 0,
            s.filter_c,
            {s.out_h, s.in_h, s.window_h, 1, (s.window_h - 1) * s.dilation_h - s.pad_top, s.dilation_h, s.stride_h},
            {s.out_w, s.in_w, s.window_w, 1, (s.window_w - 1) * s.dilation_w - s.pad_left, s.dilation_w, s.stride_w},
            true};
  }
};

}  // namespace emplace
