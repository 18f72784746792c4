// QuantizeAndDequantize, V2, V3, V4 and V4Grad: floats as they come back from integers of so many bits, 0 being one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/quantize.h"

namespace emplace {
namespace {

Status rounded_shape(ShapeContext& c) {
  RETURN_IF_ERROR(range_shape(c, 1, c.input(0)).take_status());
  if (c.num_inputs() > 3) RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  c.set_output(0, c.input(0));
  return ok_status();
}
Status rounded_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape range, range_shape(c, 2, c.input(0)));
  c.set_output(0, c.input(0));
  c.set_output(1, range);
  c.set_output(2, range);
  return ok_status();
}

/// What numbers are kept to, and the integers that they become: x * scale.
template <class T>
struct RoundedSteps {
  T low, high, scale, inverse;
  RoundedSteps(T min, T max, bool is_signed, bool narrow, int64_t bits) : low(min), high(max) {
    const int64_t half = int64_t{1} << (bits - 1);
    const T lowest = static_cast<T>(is_signed ? -half + narrow : 0);
    const T highest = static_cast<T>(is_signed ? half - 1 : 2 * half - 1);
    constexpr T kNone = std::numeric_limits<T>::max();
    const T by_low = lowest * min > 0 ? lowest / min : kNone;
    const T by_high = highest * max > 0 ? highest / max : kNone;
    if (by_low < by_high) {
      scale = by_low;
      inverse = min / lowest;
      high = highest * inverse;
    } else {
      scale = by_high;
      inverse = max / highest;
      low = lowest * inverse;
    }
  }
  RoundedSteps() = default;
};

/// Is `axis` one of `shape`, or -1?
Status check_axis(const Shape& shape, int64_t axis) {
  if (axis < -1) return invalid_argument(cat("Axis must be at least -1. Found ", axis));
  if (axis < shape.rank()) return ok_status();
  return invalid_argument(cat("Shape must be at least rank ", axis + 1, " but is rank ", shape.rank()));
}
/// Ranges in inputs `i` and `i` + 1: one, or one for each slice of the axis.
Status check_ranges(const KernelContext& c, int i, const AxisSlices& slices, int64_t axis) {
  for (const int k : {i, i + 1}) {
    const Shape& range = c.input(k).shape();
    if (axis == -1 ? range.num_elements() == 1 : range == Shape{slices.count}) continue;
    return invalid_argument(cat(k == i ? "input_min" : "input_max", " has shape ", range.to_string(), ", expected ",
                                axis == -1 ? Shape{}.to_string() : Shape{slices.count}.to_string()));
  }
  return ok_status();
}

template <class T>
class QuantizeAndDequantize final : public Kernel {
 public:
  explicit QuantizeAndDequantize(const KernelInit& init)
      : signed_(init.attrs.flag("signed_input")),
        given_(init.attrs.flag("range_given")),
        narrow_(init.attrs.find("narrow_range") && init.attrs.flag("narrow_range")),
        up_(init.attrs.find("round_mode") && init.attrs.text("round_mode") == "HALF_UP"),
        axis_(init.attrs.find("axis") ? init.attrs.integer("axis") : -1),
        bits_(init.attrs.find("num_bits") ? init.attrs.integer("num_bits") : 0),
        min_(init.attrs.find("input_min") ? init.attrs.number("input_min") : 0),
        max_(init.attrs.find("input_max") ? init.attrs.number("input_max") : 0) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    RETURN_IF_ERROR(check_axis(shape, axis_));
    ASSIGN_OR_RETURN(const int64_t bits, number_of_bits(c));
    const AxisSlices slices(shape, axis_);
    ScratchVector<T> range(static_cast<size_t>(2 * slices.count));
    RETURN_IF_ERROR(find_ranges(c, slices, range));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    ScratchVector<RoundedSteps<T>> steps(static_cast<size_t>(slices.count));
    for (size_t i = 0; i < steps.size(); ++i)
      steps[i] = RoundedSteps<T>(range[2 * i], range[2 * i + 1], signed_, narrow_, bits);
    slices.for_runs(c, 1.5, [&](int64_t slice, int64_t begin, int64_t end) {
      up_ ? round_run<true>(c, steps[static_cast<size_t>(slice)], begin, end)
          : round_run<false>(c, steps[static_cast<size_t>(slice)], begin, end);
    });
    return ok_status();
  }

 private:
  Result<int64_t> number_of_bits(const KernelContext& c) const {
    int64_t bits = bits_;
    if (c.num_inputs() == 4) {
      if (c.input(3).num_elements() != 1)
        return invalid_argument(cat("num_bits should be a scalar, got shape ", c.input(3).shape().to_string()));
      bits = int_at(c.input(3), 0);
    }
    if (bits > 0 && bits < (signed_ ? 62 : 63)) return bits;
    return invalid_argument(cat("num_bits is out of range: ", bits, " with signed_input_ ", signed_ ? "true" : "false",
                                ": wanted is 1 to ", signed_ ? 61 : 62));
  }
  /// Lowest and highest number of each slice, as the inputs or attrs say, or as they are.
  Status find_ranges(const KernelContext& c, const AxisSlices& slices, ScratchVector<T>& range) const {
    if (given_) {
      const bool of_attrs = c.num_inputs() == 1;
      // TensorFlow's V2 and V4 have ranges of slices in their shapes, but no kernel for them.
      if (c.num_inputs() == 3 && axis_ != -1) {
        return invalid_argument(cat("given ranges along axis ", axis_,
                                    ", which TensorFlow has no kernel for: "
                                    "QuantizeAndDequantizeV3 has one"));
      }
      if (!of_attrs) RETURN_IF_ERROR(check_ranges(c, 1, slices, axis_));
      for (int64_t i = 0; i < slices.count; ++i) {
        const T low = of_attrs ? static_cast<T>(min_) : c.in<T>(1)[i];
        const T high = of_attrs ? static_cast<T>(max_) : c.in<T>(2)[i];
        if (axis_ == -1 && !(low <= high))
          return invalid_argument(cat("Invalid range: input_min ", low, " > input_max ", high));
        range[static_cast<size_t>(2 * i)] = low;
        range[static_cast<size_t>(2 * i + 1)] = high;
      }
      return ok_status();
    }
    constexpr T kMost = std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < slices.count; ++i) {
      T low = kMost, high = -kMost;
      for (int64_t o = 0; o < slices.outer; ++o) {
        const T* x = c.in<T>(0) + (o * slices.count + i) * slices.inner;
        for (int64_t k = 0; k < slices.inner; ++k) {
          low = x[k] < low ? x[k] : low;
          high = x[k] > high ? x[k] : high;
        }
      }
      range[static_cast<size_t>(2 * i)] = low;
      range[static_cast<size_t>(2 * i + 1)] = high;
    }
    return ok_status();
  }
  template <bool kUp>
  void round_run(KernelContext& c, const RoundedSteps<T>& s, int64_t begin, int64_t end) const {
    const T* x = c.in<T>(0);
    T* y = c.out<T>(0);
    for (int64_t i = begin; i < end; ++i) {
      T v = x[i];
      if (given_) {
        v = s.high < v ? s.high : v;
        v = v < s.low ? s.low : v;
      }
      v *= s.scale;
      y[i] = (kUp ? std::floor(v + T(0.5)) : std::nearbyint(v)) * s.inverse;
    }
  }

  const bool signed_, given_, narrow_, up_;
  const int64_t axis_, bits_;
  const float min_, max_;
};

/// The gradient of what lay in the range; none of the range itself.
template <class T>
class QuantizeAndDequantizeGrad final : public Kernel {
 public:
  explicit QuantizeAndDequantizeGrad(const KernelInit& init) : axis_(init.attrs.integer("axis")) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(1).shape();
    RETURN_IF_ERROR(check_axis(shape, axis_));
    if (!(c.input(0).shape() == shape)) {
      return invalid_argument(cat("gradient and input must be the same size, got ", c.input(0).shape().to_string(),
                                  " and ", shape.to_string()));
    }
    const AxisSlices slices(shape, axis_);
    RETURN_IF_ERROR(check_ranges(c, 2, slices, axis_));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    for (const int i : {1, 2}) {
      RETURN_IF_ERROR(ensure_output(c, i, c.input(i + 1).shape()));
      std::fill_n(c.out<T>(i), c.output(i).num_elements(), T(0));
    }
    slices.for_runs(c, 0.7, [&](int64_t slice, int64_t begin, int64_t end) {
      const T low = c.in<T>(2)[slice], high = c.in<T>(3)[slice];
      const T *gradient = c.in<T>(0), *x = c.in<T>(1);
      T* y = c.out<T>(0);
      for (int64_t i = begin; i < end; ++i) y[i] = gradient[i] * (x[i] >= low && x[i] <= high ? T(1) : T(0));
    });
    return ok_status();
  }

 private:
  const int64_t axis_;
};

Status v4_gradient(GradientContext& g) {
  const Value made =
      g.add("QuantizeAndDequantizeV4Grad", {g.grad(0), g.input(0), g.input(1), g.input(2)}, g.copy_attrs({"axis"}));
  for (const int i : {0, 1, 2}) g.set(i, made.output(static_cast<uint32_t>(i)));
  return g.status();
}
Status v4_second_gradient(GradientContext&) {
  return unimplemented(
      "the gradient of QuantizeAndDequantizeV4Grad: TensorFlow's function for it takes one gradient, and is given "
      "three");
}

OpDef rounded(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .cpu<float>(make<QuantizeAndDequantize<float>>)
      .cpu<double>(make<QuantizeAndDequantize<double>>);
}

}  // namespace

OpDef quantize_and_dequantize_op() {
  return rounded("QuantizeAndDequantize", "Numbers as they are after a quantisation to num_bits, the range in attrs.")
      .shape(shape_unchanged)
      .gradient(identity_gradient);
}
OpDef quantize_and_dequantize_v2_op() {
  return rounded("QuantizeAndDequantizeV2", "Numbers as they are after a quantisation to num_bits.")
      .shape(rounded_shape)
      .gradient(identity_gradient);
}
OpDef quantize_and_dequantize_v3_op() {
  return rounded("QuantizeAndDequantizeV3",
                 "Numbers as they are after a quantisation to as many bits as an input says.")
      .shape(rounded_shape)
      .gradient(identity_gradient);
}
OpDef quantize_and_dequantize_v4_op() {
  return rounded("QuantizeAndDequantizeV4", "As QuantizeAndDequantizeV2; numbers beyond the range have no gradient.")
      .shape(rounded_shape)
      .gradient(v4_gradient);
}
OpDef quantize_and_dequantize_v4_grad_op() {
  return OpDef("QuantizeAndDequantizeV4Grad")
      .doc("The gradient of what lay in the range.")
      .shape(rounded_gradient_shape)
      .cpu<float>(make<QuantizeAndDequantizeGrad<float>>)
      .cpu<double>(make<QuantizeAndDequantizeGrad<double>>)
      .gradient(v4_second_gradient);
}

}  // namespace emplace
