// DepthwiseConv2dNative, its two gradients, and TF.js's fused form.
#include "core/base/cat.h"
#include "core/op/described_kernel.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/conv/depthwise_loops.h"
#include "core/ops/conv/epilogue.h"
#include "core/ops/conv/image.h"
#include "core/ops/gemm/processors.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/steps_of_product.h"

namespace emplace {
namespace {

// TensorFlow's kernels know one stride; so does the op.
Result<ConvShape> depthwise_shape_of(const Attrs& attrs, const Shape& input, const Shape& filter) {
  ASSIGN_OR_RETURN(ConvShape s, conv_shape(attrs, input, filter, true));
  if (s.stride_h != s.stride_w) {
    return invalid_argument(
        "Current implementation only supports equal length strides in the row and column dimensions.");
  }
  return s;
}

Status depthwise_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape input, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(Shape filter, c.with_rank(1, 4));
  ASSIGN_OR_RETURN(ConvShape s, depthwise_shape_of(c.attrs(), input, filter));
  c.set_output(0, image_shape(image_layout(c.attrs()), s.batch, s.out_h, s.out_w, s.out_c));
  return ok_status();
}

template <int kSizes>
Status shape_given(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape sizes, shape_from_input(c, kSizes));
  ASSIGN_OR_RETURN(sizes, require_rank(sizes, 4));
  c.set_output(0, sizes);
  return ok_status();
}

template <class T>
class DepthwiseConv final : public DescribedKernel {
 public:
  DepthwiseConv(const KernelInit& init, FusedOps fused)
      : attrs_(init.attrs), layout_(image_layout(init.attrs)), fused_(fused) {}

  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(shape_, depthwise_shape_of(attrs_, c.input(0).shape(), c.input(1).shape()));
    return ok_status();
  }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor in_scratch, filter_scratch, out_scratch;
    ASSIGN_OR_RETURN(const C* in, as_nhwc<T>(c, c.input(0), layout_, in_scratch));
    ASSIGN_OR_RETURN(const C* filter, as_compute<T>(c, c.input(1), filter_scratch));
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), layout_, out_scratch));
    if (has_epilogue()) RETURN_IF_ERROR(epilogue_.template prepare<T>(c, fused_, 2, shape_.out_c));
    Finished finished(*this, out, c.row_sink_);
    depthwise_conv(*c.parallel_, row_, shape_, in, filter, out, &finished);
    finish_output<T>(c, c.output(0), layout_, out_scratch);
    return ok_status();
  }
  // Unless the output is rearranged or narrowed afterwards.
  bool hands_on_rows() const override { return std::is_same_v<C, T> && layout_.c == 3; }
  std::string describe() const override {
    if (shape_.out_c != shape_.in_c) return "pixel by pixel: a channel has several filters";
    return cat("rows of up to 8 pixels by a vector of channels in registers (", gemm::isa_name(isa()), ")");
  }

 private:
  using C = Compute<T>;
  Attrs attrs_;
  ImageLayout layout_;
  FusedOps fused_;
  ConvShape shape_;
  Epilogue<C> epilogue_;
  const DepthwiseRow<C> row_ = depthwise_row<C>();

  bool has_epilogue() const { return fused_.num_args() > 0 || fused_.activation != Activation::kNone; }

  /// Bias and activation of pixels that are still in cache, or the steps that follow; then whoever else waits for them.
  struct Finished final : RowSink {
    Finished(const DepthwiseConv& conv, C* pixels, RowSink* others) : kernel(conv), out(pixels), next(others) {
      if (next && !kernel.has_epilogue() && kernel.shape_.out_c >= kEnoughForSteps)
        steps = StepsOfProduct<C>(next, out);
    }
    void finished(int64_t first, int64_t pixels) override {
      const int64_t channels = kernel.shape_.out_c;
      if (kernel.has_epilogue())
        kernel.epilogue_.run(out + first * channels, static_cast<int>(pixels), channels, channels, 0);
      for (int64_t i = 0; steps && i < pixels; i += kPixelsAtOnce) {
        const int64_t rows = std::min(kPixelsAtOnce, pixels - i);
        steps.run(out + (first + i) * channels, static_cast<int>(rows), channels, channels, 0);
      }
      if (next) next->finished(first, pixels);
    }
    static constexpr int64_t kPixelsAtOnce = 8;  // they are in L1 for all channels
    const DepthwiseConv& kernel;
    C* const out;
    RowSink* next;
    StepsOfProduct<C> steps;
  };
};

template <class T>
Result<std::unique_ptr<Kernel>> make_depthwise(const KernelInit& init) {
  return owned_kernel(new DepthwiseConv<T>(init, FusedOps{}));
}

template <class T>
Result<std::unique_ptr<Kernel>> make_fused_depthwise(const KernelInit& init) {
  ASSIGN_OR_RETURN(FusedOps fused, FusedOps::from(init.attrs));
  RETURN_IF_ERROR(fused.check_num_args(init.attrs));
  return owned_kernel(new DepthwiseConv<T>(init, fused));
}

/// Both gradients: `kInput`: of the input, else of the filter.
template <class T, bool kInput>
class DepthwiseGradient final : public Kernel {
 public:
  explicit DepthwiseGradient(const KernelInit& init) : attrs_(init.attrs), layout_(image_layout(init.attrs)) {}

  Status prepare(KernelContext& c) override {
    const Shape& input = kInput ? c.output(0).shape() : c.input(0).shape();
    const Shape& filter = kInput ? c.input(1).shape() : c.output(0).shape();
    ASSIGN_OR_RETURN(shape_, depthwise_shape_of(attrs_, input, filter));
    Shape want = image_shape(layout_, shape_.batch, shape_.out_h, shape_.out_w, shape_.out_c);
    if (!(c.input(2).shape() == want)) {
      return invalid_argument(
          cat("out_backprop must have shape ", want.to_string(), ", but has ", c.input(2).shape().to_string()));
    }
    return ok_status();
  }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor first_scratch, gradient_scratch, out_scratch;
    ImageLayout filter_layout{0, 1, 2, 3};
    ImageLayout out_layout = kInput ? layout_ : filter_layout;
    const int other = kInput ? 1 : 0;
    ASSIGN_OR_RETURN(const C* first, as_nhwc<T>(c, c.input(other), kInput ? filter_layout : layout_, first_scratch));
    ASSIGN_OR_RETURN(const C* gradient, as_nhwc<T>(c, c.input(2), layout_, gradient_scratch));
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), out_layout, out_scratch));
    if constexpr (kInput) {
      depthwise_input_gradient(*c.parallel_, shape_, gradient, first, out);
    } else {
      depthwise_filter_gradient(*c.parallel_, shape_, first, gradient, out);
    }
    finish_output<T>(c, c.output(0), out_layout, out_scratch);
    return ok_status();
  }

 private:
  using C = Compute<T>;
  Attrs attrs_;
  ImageLayout layout_;
  ConvShape shape_;
};

GradientContext::AttrList window_attrs(const GradientContext& g) {
  return g.copy_attrs({"strides", "padding", "explicit_paddings", "data_format", "dilations"});
}

Status depthwise_gradient(GradientContext& g) {
  Value image = g.shape_of(g.input(0)), filter = g.shape_of(g.input(1));
  g.set(0, g.add("DepthwiseConv2dNativeBackpropInput", {image, g.input(1), g.grad(0)}, window_attrs(g)));
  g.set(1, g.add("DepthwiseConv2dNativeBackpropFilter", {g.input(0), filter, g.grad(0)}, window_attrs(g)));
  return g.status();
}

Status backprop_input_gradient(GradientContext& g) {
  g.set(1,
        g.add("DepthwiseConv2dNativeBackpropFilter", {g.grad(0), g.shape_of(g.input(1)), g.input(2)}, window_attrs(g)));
  g.set(2, g.add("DepthwiseConv2dNative", {g.grad(0), g.input(1)}, window_attrs(g)));
  return g.status();
}

Status backprop_filter_gradient(GradientContext& g) {
  g.set(0,
        g.add("DepthwiseConv2dNativeBackpropInput", {g.shape_of(g.input(0)), g.grad(0), g.input(2)}, window_attrs(g)));
  g.set(2, g.add("DepthwiseConv2dNative", {g.input(0), g.grad(0)}, window_attrs(g)));
  return g.status();
}

}  // namespace

OpDef depthwise_conv2d() {
  return OpDef("DepthwiseConv2dNative")
      .doc("2-D convolution in which every input channel has filters of its own.")
      .traits({.work = Work::kConvolution})
      .shape(depthwise_shape)
      .cpu<float>(make_depthwise<float>)
      .cpu<double>(make_depthwise<double>)
      .cpu<half>(make_depthwise<half>)
      .cpu<bfloat16>(make_depthwise<bfloat16>)
      .gradient(depthwise_gradient);
}

OpDef fused_depthwise_conv2d() {
  return OpDef("FusedDepthwiseConv2dNative")
      .doc("TF.js: DepthwiseConv2dNative, then a bias and an activation.")
      .traits({.work = Work::kConvolution})
      .shape(depthwise_shape)
      .cpu<float>(make_fused_depthwise<float>)
      .cpu<double>(make_fused_depthwise<double>);
}

OpDef depthwise_backprop_input() {
  return OpDef("DepthwiseConv2dNativeBackpropInput")
      .doc("Gradient of DepthwiseConv2dNative with respect to its input.")
      .traits({.work = Work::kConvolution})
      .shape(shape_given<0>)
      .value_inputs({0})
      .cpu<float>(make<DepthwiseGradient<float, true>>)
      .cpu<double>(make<DepthwiseGradient<double, true>>)
      .cpu<half>(make<DepthwiseGradient<half, true>>)
      .cpu<bfloat16>(make<DepthwiseGradient<bfloat16, true>>)
      .gradient(backprop_input_gradient);
}

OpDef depthwise_backprop_filter() {
  return OpDef("DepthwiseConv2dNativeBackpropFilter")
      .doc("Gradient of DepthwiseConv2dNative with respect to its filter.")
      .traits({.work = Work::kConvolution})
      .shape(shape_given<1>)
      .value_inputs({1})
      .cpu<float>(make<DepthwiseGradient<float, false>>)
      .cpu<double>(make<DepthwiseGradient<double, false>>)
      .cpu<half>(make<DepthwiseGradient<half, false>>)
      .cpu<bfloat16>(make<DepthwiseGradient<bfloat16, false>>)
      .gradient(backprop_filter_gradient);
}

}  // namespace emplace
