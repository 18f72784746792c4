// RGBToHSV, HSVToRGB, AdjustHue, AdjustSaturation and AdjustContrastv2: colours of images, channels last.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
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

// Which of three colours is the largest and which the smallest, as 0 and 1; of equal ones TensorFlow's choice.
struct Extremes {
  std::array<Value, 3> color, largest, smallest;

  static Extremes of(GradientContext& g, Value x) {
    Extremes e;
    const DType type = g.type(x);
    const Value parts =
        g.add("Split", {g.index(-1, "split_dim"), x}, {{"num_split", AttrValue::of(int64_t{3})}}, "split");
    for (uint32_t i = 0; i < 3; ++i) e.color[i] = parts.output(i);
    const auto& [red, green, blue] = e.color;
    const auto both = [&](std::string_view a, Value x1, Value y1, std::string_view b, Value x2, Value y2) {
      return g.cast(g.add("LogicalAnd", {g.add(a, {x1, y1}), g.add(b, {x2, y2})}), type);
    };
    e.largest = {both("GreaterEqual", red, blue, "GreaterEqual", red, green),
                 both("Greater", green, red, "GreaterEqual", green, blue),
                 both("Greater", blue, red, "Greater", blue, green)};
    e.smallest = {both("Less", red, blue, "Less", red, green), both("LessEqual", green, red, "Less", green, blue),
                  both("LessEqual", blue, red, "LessEqual", blue, green)};
    return e;
  }
};

// Hue is a difference of two colours, which two the largest one says, over the range; saturation 1 - smallest /
// largest.
Status rgb_to_hsv_gradient(GradientContext& g) {
  const Extremes e = Extremes::of(g, g.input(0));
  const auto add = [&](Value a, Value b) { return g.add("AddV2", {a, b}, {}, "add"); };
  const auto less = [&](Value a, Value b) { return g.add("Sub", {a, b}, {}, "sub"); };
  const auto& c = e.color;
  const Value one = g.scalar(g.type(c[0]), 1), high = g.add("Maximum", {c[0], g.add("Maximum", {c[1], c[2]})});
  const Value low = g.add("Minimum", {c[0], g.add("Minimum", {c[1], c[2]})});
  const Value by_range = g.add("DivNoNan", {one, less(high, low)}), by_high = g.add("DivNoNan", {one, high});
  Value apart;
  for (size_t i = 0; i < 3; ++i) {
    const Value term = g.mul(e.largest[i], less(c[(i + 1) % 3], c[(i + 2) % 3]));
    apart = i == 0 ? term : add(apart, term);
  }
  const Value turn = g.mul(apart, g.mul(by_range, by_range)), fall = g.mul(low, g.mul(by_high, by_high));
  const Value sixth = g.scalar(g.type(c[0]), 1.0 / 6);
  const Value dy =
      g.add("Split", {g.index(-1, "split_dim"), g.grad(0)}, {{"num_split", AttrValue::of(int64_t{3})}}, "split");
  std::vector<Value> parts;
  for (size_t i = 0; i < 3; ++i) {
    const Value sign = less(e.largest[(i + 2) % 3], e.largest[(i + 1) % 3]);
    const Value ends = less(e.largest[i], e.smallest[i]);
    const Value hue = g.mul(sixth, less(g.mul(sign, by_range), g.mul(turn, ends)));
    const Value saturation = less(g.mul(e.largest[i], fall), g.mul(e.smallest[i], by_high));
    parts.push_back(add(add(g.mul(dy, hue), g.mul(dy.output(1), saturation)), g.mul(dy.output(2), e.largest[i])));
  }
  parts.push_back(g.index(-1, "axis"));
  g.set(0, g.add("ConcatV2", parts, {}, "concat"));
  return g.status();
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
      .cpu<bfloat16>(stateless<rgb_to_hsv_cpu<bfloat16>>)
      .gradient(rgb_to_hsv_gradient);
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
