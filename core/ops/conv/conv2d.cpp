// Conv2D and its two gradients, and _FusedConv2D: a convolution with bias, normalisation or activation.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/described_kernel.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/conv/direct_conv.h"
#include "core/ops/conv/epilogue.h"
#include "core/ops/conv/filter_gradient.h"
#include "core/ops/conv/image.h"
#include "core/ops/conv/narrow_filter_gradient.h"
#include "core/ops/conv/narrow_input_gradient.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/steps_of_product.h"

namespace emplace {
namespace {

Status conv2d_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape input, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(Shape filter, c.with_rank(1, 4));
  ASSIGN_OR_RETURN(ConvShape s, conv_shape(c.attrs(), input, filter, false));
  for (int axis = 0; filter.rank_known() && axis < 4; ++axis) {
    if (filter.dim(axis) == 0)
      return invalid_argument("filter must not have zero elements (i.e. all dimensions must be non-zero)");
  }
  c.set_output(0, image_shape(image_layout(c.attrs()), s.batch, s.out_h, s.out_w, s.out_c));
  return ok_status();
}

Status input_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape sizes, shape_from_input(c, 0));
  ASSIGN_OR_RETURN(sizes, require_rank(sizes, 4));
  ASSIGN_OR_RETURN(Shape filter, c.with_rank(1, 4));
  ASSIGN_OR_RETURN(Shape gradient, c.with_rank(2, 4));
  ImageLayout at = image_layout(c.attrs());
  RETURN_IF_ERROR(ShapeContext::merge_dim(gradient.dim(at.c), filter.dim(3)).take_status());
  ASSIGN_OR_RETURN(sizes.dim(at.n), ShapeContext::merge_dim(sizes.dim(at.n), gradient.dim(at.n)));
  c.set_output(0, sizes);
  return ok_status();
}

Status filter_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape sizes, shape_from_input(c, 1));
  ASSIGN_OR_RETURN(sizes, require_rank(sizes, 4));
  c.set_output(0, sizes);
  return ok_status();
}

constexpr ImageLayout kFilterLayout{0, 1, 2, 3};  // filters are HWIO in every data format

int64_t image_size(const ConvShape& s) { return s.batch * s.in_h * s.in_w * s.in_c; }
int64_t filter_size(const ConvShape& s) { return s.taps() * s.filter_c * s.out_c; }
int64_t result_size(const ConvShape& s) { return s.pixels() * s.out_c; }

/// Of bringing the three into the computing type and order.
template <class T>
int64_t rearranged_bytes(const ConvShape& s, ImageLayout layout) {
  return nhwc_scratch<T>(image_size(s) + result_size(s), layout) + nhwc_scratch<T>(filter_size(s), kFilterLayout);
}

// A filter rearranged once if it never changes, else in every step.
template <class C>
class PackedFilter {
 public:
  template <class T>
  Result<const C*> get(KernelContext& c, int input, const DirectConv<C>& conv, bool changed) {
    if (changed || !packed_.valid()) {
      DType storage = sizeof(C) == sizeof(T) ? dtype_of<T> : dtype_of<C>;
      ASSIGN_OR_RETURN(packed_, c.allocate_persistent(storage, Shape{conv.packed_filter_size()}));
      fresh_ = false;
    }
    C* packed = static_cast<C*>(packed_.raw());
    if (!fresh_ || !c.input_is_constant(input)) {
      Tensor scratch;
      ASSIGN_OR_RETURN(const C* filter, as_compute<T>(c, c.input(input), scratch));
      conv.pack_filter(*c.parallel_, filter, packed);
      fresh_ = true;
      finite_ = c.input_is_constant(input) && conv.may_leave_out() && all_finite(filter, c.input(input).num_elements());
    }
    return const_cast<const C*>(packed);
  }
  /// Is it a constant, with neither infinities nor what is no number, of which something may be left out?
  bool finite() const { return finite_; }

 private:
  static bool all_finite(const C* filter, int64_t count) {
    constexpr int64_t kAtOnce = 16;  // sums that need not wait for each other
    C sums[kAtOnce] = {};            // 0, unless an element makes anything else of it
    for (; count >= kAtOnce; count -= kAtOnce, filter += kAtOnce) {
      for (int64_t j = 0; j < kAtOnce; ++j) sums[j] += filter[j] * C(0);
    }
    for (int64_t j = 0; j < count; ++j) sums[j] += filter[j] * C(0);
    return std::all_of(sums, sums + kAtOnce, [](C sum) { return sum == C(0); });
  }

  Tensor packed_;
  bool fresh_ = false, finite_ = false;
};

template <class T>
class Conv2D final : public DescribedKernel {
 public:
  Conv2D(const KernelInit& init, FusedOps fused)
      : attrs_(init.attrs), layout_(image_layout(init.attrs)), fused_(fused) {}

  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(shape_, conv_shape(attrs_, c.input(0).shape(), c.input(1).shape(), false));
    conv_ = DirectConv<C>(shape_);
    changed_ = true;
    return ok_status();
  }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor in_scratch, out_scratch;
    ASSIGN_OR_RETURN(const C* in, as_nhwc<T>(c, c.input(0), layout_, in_scratch));
    ASSIGN_OR_RETURN(const C* filter, filter_.template get<T>(c, 1, conv_, changed_));
    changed_ = false;
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), layout_, out_scratch));
    ConvEpilogue<C> after;
    if constexpr (std::is_floating_point_v<C>) {
      if (fused_.num_args() > 0 || fused_.activation != Activation::kNone) {
        RETURN_IF_ERROR(epilogue_.template prepare<T>(c, fused_, 2, shape_.out_c));
        after = {&Epilogue<C>::apply, &epilogue_};
      }
    }
    RowSink* sink = c.row_sink_;
    StepsOfProduct<C> steps;
    if (sink && !after.apply && shape_.out_c >= kEnoughForSteps) steps = StepsOfProduct<C>(sink, out);
    if (steps) after = {&StepsOfProduct<C>::apply, &steps};
    conv_.run(*c.parallel_, in, filter, out, after, sink, filter_.finite());
    finish_output<T>(c, c.output(0), layout_, out_scratch);
    return ok_status();
  }
  Workspace workspace() const override {
    return {rearranged_bytes<T>(shape_, layout_), conv_.packed_filter_size() * static_cast<int64_t>(sizeof(C))};
  }
  // Unless the output is rearranged or narrowed afterwards.
  bool hands_on_rows() const override { return std::is_same_v<C, T> && layout_.c == 3; }
  std::string describe() const override { return conv_.describe(); }

 private:
  using C = Compute<T>;
  Attrs attrs_;
  ImageLayout layout_;
  FusedOps fused_;
  ConvShape shape_;
  DirectConv<C> conv_;
  PackedFilter<C> filter_;
  std::conditional_t<std::is_floating_point_v<C>, Epilogue<C>, int> epilogue_;
  bool changed_ = true;
};

template <class T>
Result<std::unique_ptr<Kernel>> make_conv2d(const KernelInit& init) {
  return owned_kernel(new Conv2D<T>(init, FusedOps{}));
}

template <class T>
Result<std::unique_ptr<Kernel>> make_fused_conv2d(const KernelInit& init) {
  ASSIGN_OR_RETURN(FusedOps fused, FusedOps::from(init.attrs));
  RETURN_IF_ERROR(fused.check_num_args(init.attrs));
  return owned_kernel(new Conv2D<T>(init, fused));
}

template <class T>
class InputGradient final : public Kernel {
 public:
  explicit InputGradient(const KernelInit& init) : attrs_(init.attrs), layout_(image_layout(init.attrs)) {}

  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(shape_, conv_shape(attrs_, c.output(0).shape(), c.input(1).shape(), false));
    RETURN_IF_ERROR(check_gradient(shape_, c.input(2).shape(), layout_, "Conv2DCustomBackpropInput"));
    if constexpr (kMayBeNarrow) {
      if (NarrowInputGradient<C>::suits(shape_)) {
        narrow_ = NarrowInputGradient<C>(shape_);
        return ok_status();
      }
    }
    conv_ = DirectConv<C>::input_gradient(shape_);
    changed_ = true;
    return ok_status();
  }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor in_scratch, out_scratch;
    ASSIGN_OR_RETURN(const C* gradient, as_nhwc<T>(c, c.input(2), layout_, in_scratch));
    if constexpr (kMayBeNarrow) {
      if (NarrowInputGradient<C>::suits(shape_)) return run_narrow(c, gradient);
    }
    ASSIGN_OR_RETURN(const C* filter, filter_.template get<T>(c, 1, conv_, changed_));
    changed_ = false;
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), layout_, out_scratch));
    conv_.run(*c.parallel_, gradient, filter, out);
    finish_output<T>(c, c.output(0), layout_, out_scratch);
    return ok_status();
  }
  Workspace workspace() const override {
    const int64_t size = sizeof(C), rearranged = rearranged_bytes<T>(shape_, layout_);
    if constexpr (kMayBeNarrow) {
      if (NarrowInputGradient<C>::suits(shape_)) return {rearranged + narrow_.scratch_size() * size, 0};
    }
    return {rearranged, conv_.packed_filter_size() * size};
  }

 private:
  using C = Compute<T>;
  static constexpr bool kMayBeNarrow = std::is_floating_point_v<T>;

  Status run_narrow(KernelContext& c, const C* gradient) {
    Tensor scratch, out_scratch;
    ASSIGN_OR_RETURN(scratch, c.allocate_scratch(dtype_of<C>, Shape{narrow_.scratch_size()}));
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), layout_, out_scratch));
    narrow_.run(*c.parallel_, gradient, c.in<C>(1), scratch.data<C>(), out);
    finish_output<T>(c, c.output(0), layout_, out_scratch);
    return ok_status();
  }

  Attrs attrs_;
  ImageLayout layout_;
  ConvShape shape_;
  std::conditional_t<kMayBeNarrow, NarrowInputGradient<C>, int> narrow_;
  DirectConv<C> conv_;
  PackedFilter<C> filter_;
  bool changed_ = true;
};

template <class T>
class FilterGradientKernel final : public Kernel {
 public:
  explicit FilterGradientKernel(const KernelInit& init) : attrs_(init.attrs), layout_(image_layout(init.attrs)) {}

  Status prepare(KernelContext& c) override {
    if (c.input(0).shape().rank() != 4)
      return invalid_argument("Conv2DCustomBackpropFilter: input must be 4-dimensional");
    ASSIGN_OR_RETURN(shape_, conv_shape(attrs_, c.input(0).shape(), c.output(0).shape(), false));
    return check_gradient(shape_, c.input(2).shape(), layout_, "Conv2DCustomBackpropFilter");
  }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor in_scratch, gradient_scratch, out_scratch;
    ASSIGN_OR_RETURN(const C* in, as_nhwc<T>(c, c.input(0), layout_, in_scratch));
    ASSIGN_OR_RETURN(const C* gradient, as_nhwc<T>(c, c.input(2), layout_, gradient_scratch));
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), kFilterLayout, out_scratch));
    if (NarrowFilterGradient<C>::suits(shape_)) {
      RETURN_IF_ERROR(multiply(c, NarrowFilterGradient<C>(shape_), in, gradient, out));
    } else {
      RETURN_IF_ERROR(multiply(c, FilterGradient<C>(shape_), in, gradient, out));
    }
    finish_output<T>(c, c.output(0), kFilterLayout, out_scratch);
    return ok_status();
  }
  Workspace workspace() const override {
    const bool narrow = NarrowFilterGradient<C>::suits(shape_);
    const int64_t size =
        narrow ? NarrowFilterGradient<C>(shape_).scratch_size() : FilterGradient<C>(shape_).scratch_size();
    return {rearranged_bytes<T>(shape_, layout_) + size * static_cast<int64_t>(sizeof(C)), 0};
  }

 private:
  using C = Compute<T>;

  template <class Product>
  Status multiply(KernelContext& c, const Product& product, const C* in, const C* gradient, C* out) {
    Tensor scratch;
    if (product.scratch_size() > 0) {
      ASSIGN_OR_RETURN(scratch, c.allocate_scratch(dtype_of<C>, Shape{product.scratch_size()}));
    }
    product.run(*c.parallel_, in, gradient, scratch.data<C>(), out);
    return ok_status();
  }

  Attrs attrs_;
  ImageLayout layout_;
  ConvShape shape_;
};

GradientContext::AttrList window_attrs(const GradientContext& g) {
  return g.copy_attrs({"strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"});
}

Status conv2d_gradient(GradientContext& g) {
  Value shapes = g.add("ShapeN", {g.input(0), g.input(1)});
  g.set(0, g.add("Conv2DBackpropInput", {shapes, g.input(1), g.grad(0)}, window_attrs(g)));
  g.set(1, g.add("Conv2DBackpropFilter", {g.input(0), shapes.output(1), g.grad(0)}, window_attrs(g)));
  return g.status();
}

Status conv2d_backprop_input_gradient(GradientContext& g) {
  g.set(1, g.add("Conv2DBackpropFilter", {g.grad(0), g.shape_of(g.input(1)), g.input(2)}, window_attrs(g)));
  g.set(2, g.add("Conv2D", {g.grad(0), g.input(1)}, window_attrs(g)));
  return g.status();
}

Status conv2d_backprop_filter_gradient(GradientContext& g) {
  g.set(0, g.add("Conv2DBackpropInput", {g.shape_of(g.input(0)), g.grad(0), g.input(2)}, window_attrs(g)));
  g.set(2, g.add("Conv2D", {g.input(0), g.grad(0)}, window_attrs(g)));
  return g.status();
}

}  // namespace

OpDef conv2d() {
  return OpDef("Conv2D")
      .doc("2-D convolution of images [batch, height, width, channels] with a filter [height, width, in, out].")
      .traits({.work = Work::kConvolution})
      .shape(conv2d_shape)
      .cpu<float>(make_conv2d<float>)
      .cpu<double>(make_conv2d<double>)
      .cpu<half>(make_conv2d<half>)
      .cpu<bfloat16>(make_conv2d<bfloat16>)
      .cpu<int32_t>(make_conv2d<int32_t>)
      .gradient(conv2d_gradient);
}

OpDef fused_conv2d() {
  return OpDef("_FusedConv2D")
      .doc("Conv2D, then what fused_ops lists: BiasAdd or FusedBatchNorm, and an activation.")
      .traits({.work = Work::kConvolution})
      .shape(conv2d_shape)
      .cpu<float>(make_fused_conv2d<float>)
      .cpu<double>(make_fused_conv2d<double>)
      .cpu<half>(make_fused_conv2d<half>)
      .cpu<bfloat16>(make_fused_conv2d<bfloat16>);
}

OpDef conv2d_backprop_input() {
  return OpDef("Conv2DBackpropInput")
      .doc("Gradient of Conv2D with respect to its input; also the transposed convolution.")
      .traits({.work = Work::kConvolution})
      .shape(input_gradient_shape)
      .value_inputs({0})
      .cpu<float>(make<InputGradient<float>>)
      .cpu<double>(make<InputGradient<double>>)
      .cpu<half>(make<InputGradient<half>>)
      .cpu<bfloat16>(make<InputGradient<bfloat16>>)
      .cpu<int32_t>(make<InputGradient<int32_t>>)
      .gradient(conv2d_backprop_input_gradient);
}

OpDef conv2d_backprop_filter() {
  return OpDef("Conv2DBackpropFilter")
      .doc("Gradient of Conv2D with respect to its filter.")
      .traits({.work = Work::kConvolution})
      .shape(filter_gradient_shape)
      .value_inputs({1})
      .cpu<float>(make<FilterGradientKernel<float>>)
      .cpu<double>(make<FilterGradientKernel<double>>)
      .cpu<half>(make<FilterGradientKernel<half>>)
      .cpu<bfloat16>(make<FilterGradientKernel<bfloat16>>)
      .gradient(conv2d_backprop_filter_gradient);
}

}  // namespace emplace
