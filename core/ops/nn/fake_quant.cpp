// FakeQuantWithMinMaxArgs, ...Vars, ...VarsPerChannel and their gradients: numbers as they are after a quantisation to
// 2 to 16 bits, with the range moved so that 0 is one of the steps.
#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// The range that numbers are kept to, and the distance of two steps.
struct Steps {
  float low = 0, high = 0, size = 0, inverse = 0, zero = 0;
  bool none = false;  // from 0 to 0: nothing is quantised

  Steps(float min, float max, float first, float last) {
    none = min == 0 && max == 0;
    size = (max - min) / (last - first);
    const float zero_point = first - min / size;
    const float nudged = zero_point < first ? first : zero_point > last ? last : std::round(zero_point);
    low = (first - nudged) * size;
    high = (last - nudged) * size;
    inverse = 1.0f / size;
    zero = std::floor(-low * inverse + 0.5f);
  }
  float quantised(float x) const {
    if (none) return 0;
    const float kept = std::max(std::min(x, high), low) - low;
    return std::floor(kept * inverse - zero + 0.5f) * size;
  }
  bool below(float x) const { return !none && x < low; }
  bool above(float x) const { return !none && x > high; }
  bool inside(float x) const { return none || (x >= low && x <= high); }
};

/// The attrs that all six ops have.
class FakeQuantKernel : public Kernel {
 public:
  explicit FakeQuantKernel(const KernelInit& init)
      : bits_(init.attrs.integer("num_bits")), first_(init.attrs.flag("narrow_range") ? 1.0f : 0.0f) {}
  Status prepare(KernelContext&) override {
    if (bits_ >= 2 && bits_ <= 16) return ok_status();
    return invalid_argument(cat("num_bits must be between 2 and 16, inclusive, was: ", bits_));
  }

 protected:
  Steps steps(float min, float max) const {
    return Steps(min, max, first_, static_cast<float>((int64_t{1} << std::clamp<int64_t>(bits_, 2, 16)) - 1));
  }

 private:
  int64_t bits_;
  float first_;
};

/// The range is two attrs. `kGradient`: input 0 is the gradient, input 1 what was quantised.
template <bool kGradient>
class FakeQuantArgs final : public FakeQuantKernel {
 public:
  explicit FakeQuantArgs(const KernelInit& init)
      : FakeQuantKernel(init), min_(init.attrs.number("min")), max_(init.attrs.number("max")) {}
  Status run(KernelContext& c) override {
    if (!(min_ < max_)) return invalid_argument(cat("min has to be smaller than max, was: ", min_, " >= ", max_));
    const Steps s = steps(min_, max_);
    const float *x = c.in<float>(kGradient ? 1 : 0), *grad = c.in<float>(0);
    float* out = c.out<float>(0);
    c.parallel_for(c.output(0).num_elements(), 2.0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (kGradient)
          out[i] = s.inside(x[i]) ? grad[i] : 0.0f;
        else
          out[i] = s.quantised(x[i]);
      }
    });
    return ok_status();
  }

 private:
  float min_, max_;
};

/// The range is two inputs: scalars, or one of each for every channel, which is the last dimension.
class FakeQuantVars final : public FakeQuantKernel {
 public:
  using FakeQuantKernel::FakeQuantKernel;
  Status run(KernelContext& c) override {
    const int64_t channels = std::max<int64_t>(1, c.input(1).num_elements());
    const int64_t of_one = c.output(0).num_elements() / channels;
    const float* x = c.in<float>(0);
    float* out = c.out<float>(0);
    c.parallel_for(channels, 2.0 * static_cast<double>(of_one), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const Steps s = steps(c.in<float>(1)[k], c.in<float>(2)[k]);
        for (int64_t i = k; i < c.output(0).num_elements(); i += channels) out[i] = s.quantised(x[i]);
      }
    });
    return ok_status();
  }
};

/// What lay below the range moves its lower end, what lay above it its upper one.
class FakeQuantVarsGradient final : public FakeQuantKernel {
 public:
  using FakeQuantKernel::FakeQuantKernel;
  Status run(KernelContext& c) override {
    const int64_t channels = std::max<int64_t>(1, c.input(2).num_elements());
    const int64_t of_one = c.output(0).num_elements() / channels;
    c.parallel_for(channels, 2.0 * static_cast<double>(of_one), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) run_channel(c, k, channels);
    });
    return ok_status();
  }

 private:
  void run_channel(KernelContext& c, int64_t k, int64_t channels) const {
    const Steps s = steps(c.in<float>(2)[k], c.in<float>(3)[k]);
    const float *grad = c.in<float>(0), *x = c.in<float>(1);
    float* out = c.out<float>(0);
    double below = 0, above = 0;  // in double: one order of adding for all sizes
    for (int64_t i = k; i < c.output(0).num_elements(); i += channels) {
      out[i] = s.inside(x[i]) ? grad[i] : 0.0f;
      if (s.below(x[i])) below += static_cast<double>(grad[i]);
      if (s.above(x[i])) above += static_cast<double>(grad[i]);
    }
    if (c.output(1).num_elements() > k) c.out<float>(1)[k] = static_cast<float>(below);
    if (c.output(2).num_elements() > k) c.out<float>(2)[k] = static_cast<float>(above);
  }
};

/// Inputs from `first` on are the ends of the range: of rank 0, or 1 with as many elements as the last dimension.
Result<Shape> range_shape(const ShapeContext& c, int first, int rank, const Shape& x) {
  ASSIGN_OR_RETURN(Shape min, c.with_rank(first, rank));
  ASSIGN_OR_RETURN(const Shape max, c.with_rank(first + 1, rank));
  ASSIGN_OR_RETURN(min, ShapeContext::merge(min, max));
  if (rank == 1 && x.rank_known() && x.rank() > 0) {
    ASSIGN_OR_RETURN(min.dim(0), ShapeContext::merge_dim(min.dim(0), x.dim_from_end(1)));
  }
  return min;
}

template <int kRank>
Status quantised_shape(ShapeContext& c) {
  RETURN_IF_ERROR(range_shape(c, 1, kRank, c.input(0)).take_status());
  c.set_output(0, c.input(0));
  return ok_status();
}

Status args_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape both, ShapeContext::merge(c.input(0), c.input(1)));
  c.set_output(0, std::move(both));
  return ok_status();
}

template <int kRank>
Status vars_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape both, ShapeContext::merge(c.input(0), c.input(1)));
  ASSIGN_OR_RETURN(const Shape range, range_shape(c, 2, kRank, both));
  c.set_output(0, std::move(both));
  c.set_output(1, range);
  c.set_output(2, range);
  return ok_status();
}

Status args_gradient(GradientContext& g) {
  g.set(0, g.add("FakeQuantWithMinMaxArgsGradient", {g.grad(0), g.input(0)},
                 g.copy_attrs({"min", "max", "num_bits", "narrow_range"})));
  return g.status();
}
Status vars_gradient(GradientContext& g, std::string_view op) {
  const Value parts =
      g.add(op, {g.grad(0), g.input(0), g.input(1), g.input(2)}, g.copy_attrs({"num_bits", "narrow_range"}));
  for (int i = 0; i < 3; ++i) g.set(i, parts.output(i));
  return g.status();
}
Status scalars_gradient(GradientContext& g) { return vars_gradient(g, "FakeQuantWithMinMaxVarsGradient"); }
Status channels_gradient(GradientContext& g) { return vars_gradient(g, "FakeQuantWithMinMaxVarsPerChannelGradient"); }

}  // namespace

OpDef fake_quant_with_min_max_args_op() {
  return OpDef("FakeQuantWithMinMaxArgs")
      .doc("Numbers as they are after a quantisation between min and max.")
      .shape(shape_unchanged)
      .cpu(make<FakeQuantArgs<false>>)
      .gradient(args_gradient);
}
OpDef fake_quant_with_min_max_args_gradient_op() {
  return OpDef("FakeQuantWithMinMaxArgsGradient")
      .doc("The gradient of FakeQuantWithMinMaxArgs: what lay outside the range has none.")
      .shape(args_gradient_shape)
      .cpu(make<FakeQuantArgs<true>>)
      .not_differentiable();
}
OpDef fake_quant_with_min_max_vars_op() {
  return OpDef("FakeQuantWithMinMaxVars")
      .doc("Numbers as they are after a quantisation between the scalars min and max.")
      .shape(quantised_shape<0>)
      .cpu(make<FakeQuantVars>)
      .gradient(scalars_gradient);
}
OpDef fake_quant_with_min_max_vars_gradient_op() {
  return OpDef("FakeQuantWithMinMaxVarsGradient")
      .doc("The gradients of FakeQuantWithMinMaxVars: of the numbers, and of the ends of the range.")
      .shape(vars_gradient_shape<0>)
      .cpu(make<FakeQuantVarsGradient>)
      .not_differentiable();
}
OpDef fake_quant_with_min_max_vars_per_channel_op() {
  return OpDef("FakeQuantWithMinMaxVarsPerChannel")
      .doc("Numbers as they are after a quantisation, each channel between its own min and max.")
      .shape(quantised_shape<1>)
      .cpu(make<FakeQuantVars>)
      .gradient(channels_gradient);
}
OpDef fake_quant_with_min_max_vars_per_channel_gradient_op() {
  return OpDef("FakeQuantWithMinMaxVarsPerChannelGradient")
      .doc("The gradients of FakeQuantWithMinMaxVarsPerChannel: of the numbers, and of the ends of each range.")
      .shape(vars_gradient_shape<1>)
      .cpu(make<FakeQuantVarsGradient>)
      .not_differentiable();
}

}  // namespace emplace
