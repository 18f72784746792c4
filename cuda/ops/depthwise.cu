// DepthwiseConv2dNative, its gradients, and TF.js's fused form. A thread makes a pixel's channel; of the filter's
// gradient, a block makes a tap's channel.
#include "core/base/cat.h"
#include "core/ops/conv/conv_shape.h"
#include "cuda/dims.h"
#include "cuda/epilogue.h"
#include "cuda/image.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// An element of an image in this layout, from its number in row-major order of [n, h, w, c].
struct Pixel {
  int64_t n, y, x, channel;
  __device__ Pixel(int64_t i, int64_t height, int64_t width, int64_t channels)
      : n(i / channels / width / height),
        y(i / channels / width % height),
        x(i / channels % width),
        channel(i % channels) {}
};

template <class T>
__global__ void forward_kernel(const T* in, ImageStrides in_at, const T* filter, T* out, ImageStrides out_at,
                               ConvShape s, ChannelEpilogue<T> epilogue) {
  const int64_t total = s.pixels() * s.out_c, multiplier = s.out_c / s.in_c;
  for (int64_t i = thread_index(); i < total; i += thread_count()) {
    const Pixel p(i, s.out_h, s.out_w, s.out_c);
    Wide<T> sum = 0;
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const int64_t y = p.y * s.stride_h - s.pad_top + tap / s.window_w * s.dilation_h;
      const int64_t x = p.x * s.stride_w - s.pad_left + tap % s.window_w * s.dilation_w;
      if (x < 0 || y < 0 || x >= s.in_w || y >= s.in_h) continue;
      sum += widen(in[in_at.offset(p.n, y, x, p.channel / multiplier)]) * widen(filter[tap * s.out_c + p.channel]);
    }
    out[out_at.offset(p.n, p.y, p.x, p.channel)] = narrow<T>(epilogue.apply(sum, p.channel));
  }
}

template <class T>
__global__ void input_gradient_kernel(const T* gradient, ImageStrides gradient_at, const T* filter, T* out,
                                      ImageStrides out_at, ConvShape s) {
  const int64_t total = s.batch * s.in_h * s.in_w * s.in_c, multiplier = s.out_c / s.in_c;
  for (int64_t i = thread_index(); i < total; i += thread_count()) {
    const Pixel p(i, s.in_h, s.in_w, s.in_c);
    Wide<T> sum = 0;
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const int64_t y = p.y + s.pad_top - tap / s.window_w * s.dilation_h,
                    x = p.x + s.pad_left - tap % s.window_w * s.dilation_w;
      if (x < 0 || y < 0 || x % s.stride_w != 0 || y % s.stride_h != 0 || x / s.stride_w >= s.out_w ||
          y / s.stride_h >= s.out_h)
        continue;
      for (int64_t k = p.channel * multiplier; k < (p.channel + 1) * multiplier; ++k) {
        sum += widen(gradient[gradient_at.offset(p.n, y / s.stride_h, x / s.stride_w, k)]) *
               widen(filter[tap * s.out_c + k]);
      }
    }
    out[out_at.offset(p.n, p.y, p.x, p.channel)] = narrow<T>(sum);
  }
}

template <class T>
__global__ void filter_gradient_kernel(const T* in, ImageStrides in_at, const T* gradient, ImageStrides gradient_at,
                                       T* filter, ConvShape s) {
  using W = Wide<T>;
  EMPLACE_BLOCK_SHARED(W, slots, [kThreads]);
  const int64_t tap = blockIdx.x / s.out_c, channel = blockIdx.x % s.out_c, multiplier = s.out_c / s.in_c;
  W sum = 0;
  for (int64_t i = threadIdx.x; i < s.pixels(); i += kThreads) {
    const int64_t ox = i % s.out_w, oy = i / s.out_w % s.out_h, n = i / s.out_w / s.out_h;
    const int64_t y = oy * s.stride_h - s.pad_top + tap / s.window_w * s.dilation_h;
    const int64_t x = ox * s.stride_w - s.pad_left + tap % s.window_w * s.dilation_w;
    if (x < 0 || y < 0 || x >= s.in_w || y >= s.in_h) continue;
    sum += widen(in[in_at.offset(n, y, x, channel / multiplier)]) *
           widen(gradient[gradient_at.offset(n, oy, ox, channel)]);
  }
  sum = combine_block(sum, slots, [](W a, W b) { return a + b; });
  if (threadIdx.x == 0) filter[blockIdx.x] = narrow<T>(sum);
}

Result<ConvShape> shape_of(const Attrs& attrs, const Shape& input, const Shape& filter) {
  ASSIGN_OR_RETURN(ConvShape s, conv_shape(attrs, input, filter, true));
  if (s.stride_h != s.stride_w) {
    return invalid_argument(
        "Current implementation only supports equal length strides in the row and column dimensions.");
  }
  return s;
}

template <class T>
class Depthwise final : public Kernel {
 public:
  explicit Depthwise(const KernelInit& init)
      : attrs_(init.attrs), layout_(image_layout(init.attrs)), fused_(FusedOps{}) {
    if (init.op != "FusedDepthwiseConv2dNative") return;
    fused_ = FusedOps::from(init.attrs);
    if (fused_.ok()) args_ = fused_->check_num_args(init.attrs);
  }
  Status prepare(KernelContext& c) override {
    RETURN_IF_ERROR(fused_.status());
    RETURN_IF_ERROR(args_);
    ASSIGN_OR_RETURN(shape_, shape_of(attrs_, c.input(0).shape(), c.input(1).shape()));
    return ok_status();
  }
  Status run(KernelContext& c) override {
    const int64_t n = c.output(0).num_elements();
    if (n == 0) return ok_status();
    ASSIGN_OR_RETURN(const auto epilogue, ChannelEpilogue<T>::of(c, *fused_, 2, shape_.out_c));
    return launch(Barriers::kNone, forward_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  ImageStrides(c.input(0).shape(), layout_), c.in<T>(1), c.out<T>(0),
                  ImageStrides(c.output(0).shape(), layout_), shape_, epilogue);
  }

 private:
  Attrs attrs_;
  ImageLayout layout_;
  Result<FusedOps> fused_;
  Status args_;
  ConvShape shape_;
};

/// Of the input or of the filter.
template <class T>
class DepthwiseGradient final : public Kernel {
 public:
  explicit DepthwiseGradient(const KernelInit& init)
      : attrs_(init.attrs),
        layout_(image_layout(init.attrs)),
        of_input_(init.op == "DepthwiseConv2dNativeBackpropInput") {}
  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(shape_, shape_of(attrs_, of_input_ ? c.output(0).shape() : c.input(0).shape(),
                                      of_input_ ? c.input(1).shape() : c.output(0).shape()));
    const Shape want = image_shape(layout_, shape_.batch, shape_.out_h, shape_.out_w, shape_.out_c);
    if (c.input(2).shape() == want) return ok_status();
    return invalid_argument(
        cat("out_backprop must have shape ", want.to_string(), ", but has ", c.input(2).shape().to_string()));
  }
  Status run(KernelContext& c) override {
    const int64_t n = c.output(0).num_elements();
    if (n == 0) return ok_status();
    const ImageStrides gradient(c.input(2).shape(), layout_);
    if (of_input_) {
      return launch(Barriers::kNone, input_gradient_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(2),
                    gradient, c.in<T>(1), c.out<T>(0), ImageStrides(c.output(0).shape(), layout_), shape_);
    }
    return launch(Barriers::kBlock, filter_gradient_kernel<T>, dim3(static_cast<unsigned>(n)), kThreads, 0,
                  stream_of(c), c.in<T>(0), ImageStrides(c.input(0).shape(), layout_), c.in<T>(2), gradient,
                  c.out<T>(0), shape_);
  }

 private:
  Attrs attrs_;
  ImageLayout layout_;
  bool of_input_;
  ConvShape shape_;
};

}  // namespace

void add_depthwise(KernelTable& table) {
  table.add("DepthwiseConv2dNative", kFloating, by_input<0, Depthwise, float, double, half, bfloat16>);
  table.add("FusedDepthwiseConv2dNative", kFloatDouble, by_input<0, Depthwise, float, double>);
  table.add("DepthwiseConv2dNativeBackpropInput", kFloating,
            by_output<DepthwiseGradient, float, double, half, bfloat16>);
  table.add("DepthwiseConv2dNativeBackpropFilter", kFloating,
            by_output<DepthwiseGradient, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
