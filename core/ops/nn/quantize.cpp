// QuantizeV2, Dequantize: floats as integers of 8 to 32 bits and back, by the range that the integers stand for.
#include "core/ops/nn/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {

AxisSlices::AxisSlices(const Shape& shape, int64_t axis) {
  if (axis < 0) {
    inner = shape.num_elements();
    return;
  }
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : i == axis ? count : inner) *= shape.dim(i);
}

Result<Shape> range_shape(const ShapeContext& c, int i, const Shape& x) {
  const int64_t axis = c.attrs().integer("axis");
  if (axis < -1) return invalid_argument(cat("axis should be at least -1, got ", axis));
  if (axis >= INT32_MAX) return invalid_argument(cat("axis should be less than ", INT32_MAX, ", got ", axis));
  const int rank = axis == -1 ? 0 : 1;
  RETURN_IF_ERROR(c.with_rank(i, rank).take_status());
  ASSIGN_OR_RETURN(const Shape range, c.with_rank(i + 1, rank));
  if (axis == -1) return range;
  ASSIGN_OR_RETURN(const Shape sliced, require_rank_at_least(x, axis + 1));
  RETURN_IF_ERROR(ShapeContext::merge_dim(range.dim(0), dim_or_unknown(sliced, axis)).take_status());
  return range;
}

namespace {

enum class Mode : uint8_t { kMinCombined, kMinFirst, kScaled };
Mode mode_of(const Attrs& attrs) {
  const std::string& mode = attrs.text("mode");
  return mode == "MIN_COMBINED" ? Mode::kMinCombined : mode == "MIN_FIRST" ? Mode::kMinFirst : Mode::kScaled;
}

template <class Q>
constexpr float kLowest = static_cast<float>(std::numeric_limits<Q>::min());
template <class Q>
constexpr float kHighest = static_cast<float>(std::numeric_limits<Q>::max());
template <class Q>
constexpr double kStepsBetween = static_cast<double>((int64_t{1} << (8 * sizeof(Q))) - 1);
template <class Q>
constexpr float kHalfRange = std::is_signed_v<Q> ? (kHighest<Q> - kLowest<Q> + 1) / 2 : 0;

Status quantize_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape range, range_shape(c, 1, c.input(0)));
  c.set_output(0, c.input(0));
  if (range.rank() == 1 && range.dim(0) == 1) return ok_status();  // the run gives scalars, as in TensorFlow
  c.set_output(1, range);
  c.set_output(2, range);
  return ok_status();
}
Status dequantize_shape(ShapeContext& c) {
  RETURN_IF_ERROR(range_shape(c, 1, c.input(0)).take_status());
  c.set_output(0, c.input(0));
  return ok_status();
}

/// A range, and how numbers in it become integers.
struct Quantization {
  float low, high;  // that the integers stand for
  float scale = 1;  // steps to 1
  float first = 0;  // MIN_FIRST: what the lowest number is, in steps
};

template <class Q>
Quantization quantization(Mode mode, float min, float max, float least_range, bool narrow) {
  const float least = std::max(1.0f, std::max(std::fabs(min), std::fabs(max))) * least_range;
  Quantization q{std::min(0.0f, min), 0};
  q.high = std::max(0.0f, std::max(max, q.low + least));
  switch (mode) {
    case Mode::kMinCombined:
      q.scale = (kHighest<Q> - kLowest<Q>) / (q.high - q.low);
      break;
    case Mode::kMinFirst:
      q.scale = q.high == q.low ? 0.0f : static_cast<float>(kStepsBetween<Q> / static_cast<double>(q.high - q.low));
      q.first = std::round(q.low * q.scale) - kLowest<Q>;
      break;
    case Mode::kScaled: {
      const auto lowest = static_cast<float>(std::numeric_limits<Q>::min() + narrow);
      constexpr float kNone = std::numeric_limits<float>::max();
      const float by_low = lowest * q.low > 0 ? lowest / q.low : kNone;
      const float by_high = kHighest<Q> * q.high > 0 ? kHighest<Q> / q.high : kNone;
      q.scale = std::min(by_low, by_high);
      q.low = lowest / q.scale;
      q.high = kHighest<Q> / q.scale;
    }
  }
  return q;
}

/// Of n numbers.
template <class Q>
void quantize_run(const float* x, void* to, int64_t n, const Quantization& q, Mode mode, bool to_even) {
  Q* out = static_cast<Q*>(to);
  const auto kept = [&](float v) {  // NaN stays what it is
    v = q.high < v ? q.high : v;
    return v < q.low ? q.low : v;
  };
  const auto store = [&](float v) { return static_cast<Q>(v != v && mode != Mode::kMinFirst ? 0 : cut_to_int32(v)); };
  const auto all = [&](const auto& f) {
    for (int64_t i = 0; i < n; ++i) out[i] = store(f(x[i]));
  };
  if (mode == Mode::kMinFirst) {
    const float lowest = std::max(kLowest<Q>, -2.147483648e+09f), highest = std::min(kHighest<Q>, 2.147483520e+09f);
    all([&](float v) {
      const float step = std::round(v * q.scale) - q.first;
      const float above = step < lowest ? lowest : step;
      return highest < above ? highest : above;
    });
  } else if (mode == Mode::kScaled) {
    if (to_even)
      all([&](float v) { return std::nearbyint(kept(v) * q.scale); });
    else
      all([&](float v) { return std::round(kept(v) * q.scale); });
  } else if (std::is_signed_v<Q>) {
    all([&](float v) { return std::round((kept(v) - q.low) * q.scale - kHalfRange<Q>); });
  } else {
    all([&](float v) { return (kept(v) - q.low) * q.scale + 0.5f; });
  }
}

class QuantizeV2 final : public Kernel {
 public:
  struct Code {
    Quantization (*range)(Mode mode, float min, float max, float least_range, bool narrow);
    void (*run)(const float* x, void* out, int64_t n, const Quantization& q, Mode mode, bool to_even);
  };
  QuantizeV2(const KernelInit& init, Code code)
      : mode_(mode_of(init.attrs)),
        to_even_(init.attrs.text("round_mode") == "HALF_TO_EVEN"),
        narrow_(init.attrs.flag("narrow_range")),
        axis_(init.attrs.integer("axis")),
        least_range_(init.attrs.number("ensure_minimum_range")),
        code_(code) {}
  Status run(KernelContext& c) override {
    if (to_even_ && mode_ != Mode::kScaled)
      return invalid_argument("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED'");
    const Shape& shape = c.input(0).shape();
    RETURN_IF_ERROR(check_ranges(c, shape));
    const AxisSlices slices(shape, axis_);
    if (slices.count != 1 && mode_ == Mode::kMinFirst)
      return unimplemented("MIN_FIRST mode is not implemented for Quantize with axis != -1.");
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    // Of a single slice the ranges are scalars, as in TensorFlow.
    const Shape ranges = slices.count == 1 ? Shape{} : c.input(1).shape();
    for (const int i : {1, 2}) RETURN_IF_ERROR(ensure_output(c, i, ranges));
    ScratchVector<Quantization> q(static_cast<size_t>(slices.count));
    for (int64_t i = 0; i < slices.count; ++i) {
      const float min = c.in<float>(1)[i], max = c.in<float>(2)[i];
      if (max < min) {
        return invalid_argument(cat("input_max_range must be larger than input_min_range, got ", max, " and ", min));
      }
      const Quantization& made = q[static_cast<size_t>(i)] = code_.range(mode_, min, max, least_range_, narrow_);
      c.out<float>(1)[i] = made.low;
      c.out<float>(2)[i] = made.high;
    }
    slices.for_runs(c, 1.5, [&](int64_t slice, int64_t begin, int64_t end) {
      code_.run(c.in<float>(0) + begin, element_at(c.output(0), begin), end - begin, q[static_cast<size_t>(slice)],
                mode_, to_even_);
    });
    return ok_status();
  }

 private:
  Status check_ranges(const KernelContext& c, const Shape& shape) const {
    constexpr std::string_view kNames[] = {"min_range", "max_range"};
    if (axis_ >= shape.rank())
      return invalid_argument(
          cat("axis ", axis_, " of an input of shape ", shape.to_string(), ", which has no such one"));
    for (const int i : {1, 2}) {
      const Shape& range = c.input(i).shape();
      if (axis_ < 0 ? range.num_elements() == 1 : range == Shape{shape.dim(static_cast<int>(axis_))}) continue;
      return invalid_argument(cat(kNames[i - 1], " has shape ", range.to_string(), ", wanted is ",
                                  axis_ < 0 ? "a scalar" : "a vector as long as that axis of the input, of shape ",
                                  axis_ < 0 ? "" : shape.to_string()));
    }
    return ok_status();
  }

  const Mode mode_;
  const bool to_even_, narrow_;
  const int64_t axis_;
  const float least_range_;
  const Code code_;
};

Result<std::unique_ptr<Kernel>> make_quantize(const KernelInit& init) {
  const QuantizeV2::Code code = with_quantized(init.output_types[0], [](auto zero) {
    using Q = decltype(zero);
    return QuantizeV2::Code{quantization<Q>, quantize_run<Q>};
  });
  return std::unique_ptr<Kernel>(new QuantizeV2(init, code));
}

/// What integers stand for: (x + offset) * scale + low, or, scaled, x * scale.
struct Dequantization {
  float offset = 0, scale = 1, low = 0;
  bool scaled = false;
  bool cut = false;  // scaled: x is made a float, and an int32 again, before
};

template <class Q>
Dequantization dequantization(Mode mode, float min, float max, bool narrow) {
  switch (mode) {
    case Mode::kMinCombined:
      return {kHalfRange<Q>, (max - min) / (kHighest<Q> - kLowest<Q>), min};
    case Mode::kMinFirst: {
      const auto scale = static_cast<float>(static_cast<double>(max - min) / kStepsBetween<Q>);
      const float low = max == min ? min : std::round(min / scale) * scale;
      return {0, scale, low - kLowest<Q> * scale};
    }
    default: {
      const auto lowest = static_cast<float>(std::numeric_limits<Q>::min() + narrow);
      const float by_high = max / kHighest<Q>;
      return {0, std::is_signed_v<Q> ? std::max(min / lowest, by_high) : by_high, 0, true};
    }
  }
}

template <class Q, class T>
void dequantize_run(const void* in, void* out, int64_t n, const Dequantization& d) {
  const Q* x = static_cast<const Q*>(in);
  T* y = static_cast<T*>(out);
  const auto all = [&](const auto& f) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(f(static_cast<float>(x[i])));
  };
  if (!d.scaled)
    all([&](float v) { return (v + d.offset) * d.scale + d.low; });
  else if (sizeof(Q) < sizeof(int32_t) || !d.cut)
    all([&](float v) { return v * d.scale; });
  else
    all([&](float v) { return static_cast<float>(cut_to_int32(v)) * d.scale; });
}

class Dequantize final : public Kernel {
 public:
  struct Code {
    Dequantization (*range)(Mode mode, float min, float max, bool narrow);
    void (*run)(const void* x, void* y, int64_t n, const Dequantization& d);
  };
  Dequantize(const KernelInit& init, Code code)
      : mode_(mode_of(init.attrs)),
        narrow_(init.attrs.flag("narrow_range")),
        of_float_(init.output_types[0] == DType::kFloat),
        axis_(init.attrs.integer("axis")),
        code_(code) {}
  Status run(KernelContext& c) override {
    if (!of_float_ && mode_ != Mode::kMinCombined)
      return invalid_argument("When output type is bfloat16, mode must be 'MIN_COMBINED'");
    const Shape& shape = c.input(0).shape();
    if (axis_ >= shape.rank())
      return invalid_argument(cat("Axis must be less than input dimension(", shape.rank(), "), got ", axis_));
    const AxisSlices slices(shape, axis_);
    constexpr std::string_view kNames[] = {"min_range", "max_range"};
    for (const int i : {1, 2}) {
      if (c.input(i).num_elements() == slices.count) continue;
      return invalid_argument(cat(kNames[i - 1], " must have as many elements as input on the dequantization axis (",
                                  axis_, "), got ", c.input(i).num_elements(), ", expected ", slices.count));
    }
    if (slices.count != 1 && mode_ == Mode::kMinFirst)
      return unimplemented("MIN_FIRST mode is not implemented for Dequantize with axis != -1.");
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    slices.for_runs(c, 0.5, [&](int64_t slice, int64_t begin, int64_t end) {
      Dequantization d = code_.range(mode_, c.in<float>(1)[slice], c.in<float>(2)[slice], narrow_);
      d.cut = slices.count == 1;
      code_.run(element_at(c.input(0), begin), element_at(c.output(0), begin), end - begin, d);
    });
    return ok_status();
  }

 private:
  const Mode mode_;
  const bool narrow_, of_float_;
  const int64_t axis_;
  const Code code_;
};

Result<std::unique_ptr<Kernel>> make_dequantize(const KernelInit& init) {
  const Dequantize::Code code = with_quantized(init.input_types[0], [&](auto zero) {
    using Q = decltype(zero);
    const bool of_float = init.output_types[0] == DType::kFloat;
    return Dequantize::Code{dequantization<Q>, of_float ? dequantize_run<Q, float> : dequantize_run<Q, bfloat16>};
  });
  return std::unique_ptr<Kernel>(new Dequantize(init, code));
}

}  // namespace

OpDef quantize_v2_op() {
  return OpDef("QuantizeV2")
      .doc("Floats as integers that stand for a range, and the range that they really stand for.")
      .shape(quantize_shape)
      .cpu(kQuantized, make_quantize);
}
OpDef dequantize_op() {
  return OpDef("Dequantize")
      .doc("The numbers that quantised integers stand for.")
      .shape(dequantize_shape)
      .cpu(kQuantized, make_dequantize);
}

}  // namespace emplace
