// RGBToHSV, HSVToRGB, AdjustHue, AdjustSaturation and AdjustContrastv2: colours of images, channels last.
#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

template <class T>
using ColorWork = std::conditional_t<kIsHalf<T>, float, T>;

/// Hue in sixths of a turn, smallest and largest part.
template <class W>
struct Hue {
  W hue = 0, low, high;

  Hue(W r, W g, W b) : low(std::min({r, g, b})), high(std::max({r, g, b})) {
    const W range = high - low;
    if (!(range > 0)) return;
    hue = r == high ? (g - b) / range : g == high ? 2 + (b - r) / range : 4 + (r - g) / range;
    if (hue < 0) hue += 6;
  }
};

/// The three parts between `low` and `high` that have a hue.
template <class W>
void parts_of_hue(W hue, W low, W high, W* rgb) {
  const auto part = [&](W x) { return low + (high - low) * std::clamp(x, W(0), W(1)); };
  rgb[0] = part(std::abs(hue - 3) - 1);
  rgb[1] = part(2 - std::abs(hue - 2));
  rgb[2] = part(2 - std::abs(hue - 4));
}

Status colors_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, c.with_rank_at_least(0, 1));
  if (s.rank_known()) RETURN_IF_ERROR(require_dim(dim_or_unknown(s, -1), 3).take_status());
  c.set_output(0, s);
  return ok_status();
}

Status adjusted_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, c.with_rank_at_least(0, 3));
  c.set_output(0, s);
  return ok_status();
}

/// Calls f(three parts in, three parts out) for each pixel.
template <class T, class F>
Status each_pixel(KernelContext& c, const F& f) {
  const Shape& s = c.input(0).shape();
  if (s.dim_from_end(1) != 3)
    return invalid_argument(cat("input must have 3 channels but instead has ", s.dim_from_end(1), " channels."));
  c.parallel_for(c.output(0).num_elements() / 3, 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ColorWork<T> in[3], out[3];
      for (int k = 0; k < 3; ++k) in[k] = static_cast<ColorWork<T>>(c.in<T>(0)[3 * i + k]);
      f(in, out);
      for (int k = 0; k < 3; ++k) c.out<T>(0)[3 * i + k] = static_cast<T>(out[k]);
    }
  });
  return ok_status();
}

template <class T>
Status rgb_to_hsv_cpu(KernelContext& c) {
  return each_pixel<T>(c, [](const auto* in, auto* out) {
    const Hue h(in[0], in[1], in[2]);
    out[0] = h.hue / 6;
    out[1] = h.high > 0 ? (h.high - h.low) / h.high : 0;
    out[2] = h.high;
  });
}

template <class T>
Status hsv_to_rgb_cpu(KernelContext& c) {
  return each_pixel<T>(c, [](const auto* in, auto* out) { parts_of_hue(in[0] * 6, (1 - in[1]) * in[2], in[2], out); });
}

/// The scalar input 1; null: it is none.
const float* amount(const KernelContext& c) { return c.input(1).shape().rank() == 0 ? c.in<float>(1) : nullptr; }

Status adjust_hue_cpu(KernelContext& c) {
  const float* delta = amount(c);
  if (!delta) return invalid_argument(cat("delta must be scalar: ", c.input(1).shape().to_string()));
  return each_pixel<float>(c, [&](const float* in, float* out) {
    const Hue h(in[0], in[1], in[2]);
    float turned = std::fmod(h.hue + *delta * 6, 6.0f);
    if (turned < 0) turned += 6;
    parts_of_hue(turned, h.low, h.high, out);
  });
}

Status adjust_saturation_cpu(KernelContext& c) {
  const float* scale = amount(c);
  if (!scale) return invalid_argument(cat("scale must be scalar: ", c.input(1).shape().to_string()));
  return each_pixel<float>(c, [&](const float* in, float* out) {
    const Hue h(in[0], in[1], in[2]);
    const float saturation = h.high > 0 ? (h.high - h.low) / h.high : 0;
    parts_of_hue(h.hue, (1 - std::clamp(saturation * *scale, 0.0f, 1.0f)) * h.high, h.high, out);
  });
}

// Away from the mean of each channel of each image.
Status adjust_contrast_cpu(KernelContext& c) {
  const float* factor = amount(c);
  if (!factor) return invalid_argument(cat("contrast_factor must be scalar: ", c.input(1).shape().to_string()));
  const Shape& s = c.input(0).shape();
  const int64_t channels = s.dim_from_end(1), pixels = s.dim_from_end(2) * s.dim_from_end(3);
  if (c.output(0).num_elements() == 0) return ok_status();
  const int64_t planes = c.output(0).num_elements() / pixels;  // of one channel
  c.parallel_for(planes, 2.0 * static_cast<double>(pixels), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t first = at / channels * channels * pixels + at % channels;
      const float* in = c.in<float>(0) + first;
      float* out = c.out<float>(0) + first;
      double sum = 0;
      for (int64_t i = 0; i < pixels; ++i) sum += static_cast<double>(in[i * channels]);
      const auto mean = static_cast<float>(sum / static_cast<double>(pixels));
      for (int64_t i = 0; i < pixels; ++i) out[i * channels] = (in[i * channels] - mean) * *factor + mean;
    }
  });
  return ok_status();
}

}  // namespace

OpDef rgb_to_hsv_op() {
  return OpDef("RGBToHSV")
      .doc("Hue, saturation and value of red, green and blue, which are the last dimension.")
      .shape(colors_shape)
      .cpu<float>(stateless<rgb_to_hsv_cpu<float>>)
      .cpu<double>(stateless<rgb_to_hsv_cpu<double>>)
      .cpu<half>(stateless<rgb_to_hsv_cpu<half>>)
      .cpu<bfloat16>(stateless<rgb_to_hsv_cpu<bfloat16>>);
}
OpDef hsv_to_rgb_op() {
  return OpDef("HSVToRGB")
      .doc("Red, green and blue of hue, saturation and value, which are the last dimension.")
      .shape(colors_shape)
      .cpu<float>(stateless<hsv_to_rgb_cpu<float>>)
      .cpu<double>(stateless<hsv_to_rgb_cpu<double>>)
      .cpu<half>(stateless<hsv_to_rgb_cpu<half>>)
      .cpu<bfloat16>(stateless<hsv_to_rgb_cpu<bfloat16>>)
      .not_differentiable();
}
OpDef adjust_hue_op() {
  return OpDef("AdjustHue")
      .doc("Images whose hues are turned by a part of the circle.")
      .shape(adjusted_shape)
      .cpu<float>(stateless<adjust_hue_cpu>);
}
OpDef adjust_saturation_op() {
  return OpDef("AdjustSaturation")
      .doc("Images whose saturations are multiplied.")
      .shape(adjusted_shape)
      .cpu<float>(stateless<adjust_saturation_cpu>);
}
OpDef adjust_contrast_v2_op() {
  return OpDef("AdjustContrastv2")
      .doc("Images each of whose channels is moved away from its mean, by a factor.")
      .shape(adjusted_shape)
      .cpu<float>(stateless<adjust_contrast_cpu>);
}

}  // namespace emplace
