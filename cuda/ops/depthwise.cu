// DepthwiseConv2dNative, its gradients, and TF.js's fused form. A thread makes a pixel's channel; of the filter's
// gradient, a block makes a piece of some channels of a tap, and a second launch adds the pieces.
#include <algorithm>

#include "core/base/cat.h"
#include "core/ops/conv/conv_shape.h"
#include "cuda/broadcast.h"
#include "cuda/dims.h"
#include "cuda/epilogue.h"
#include "cuda/image.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// A ConvShape for kernels, and how to find an element's place in images of h x w x c.
struct DepthwisePlan {
  ConvShape s;
  IndexDivisor height, width, channels, multiplier, stride_h, stride_w;

  DepthwisePlan(const ConvShape& shape, int64_t h, int64_t w, int64_t c)
      : s(shape),
        height(h, shape.batch * h * w * c),
        width(w, shape.batch * h * w * c),
        channels(c, shape.batch * h * w * c),
        multiplier(shape.out_c / shape.in_c, shape.out_c),
        stride_h(shape.stride_h, shape.in_h + shape.pad_top),
        stride_w(shape.stride_w, shape.in_w + shape.pad_left) {}
};

/// Element i, in row-major order of [n, h, w, c].
struct Pixel {
  int64_t n, y, x, channel;
  __device__ __forceinline__ Pixel(int64_t i, const DepthwisePlan& p) {
    channel = p.channels.split(i);
    x = p.width.split(i);
    y = p.height.split(i);
    n = i;
  }
};

template <class T>
__global__ void forward_kernel(const T* in, ImageStrides in_at, const T* filter, T* out, ImageStrides out_at,
                               DepthwisePlan plan, ChannelEpilogue<T> epilogue, int64_t total) {
  const ConvShape& s = plan.s;
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < total; i += thread_count()) {
    const Pixel p(i, plan);
    const int64_t from = plan.multiplier.divide(p.channel);
    const T* tap = filter + p.channel;
    Wide<T> sum = 0;
    for (int64_t ky = 0; ky < s.window_h; ++ky) {
      const int64_t y = p.y * s.stride_h - s.pad_top + ky * s.dilation_h;
      for (int64_t kx = 0; kx < s.window_w; ++kx, tap += s.out_c) {
        const int64_t x = p.x * s.stride_w - s.pad_left + kx * s.dilation_w;
        if (x < 0 || y < 0 || x >= s.in_w || y >= s.in_h) continue;
        sum += widen(in[in_at.offset(p.n, y, x, from)]) * widen(*tap);
      }
    }
    out[out_at.offset(p.n, p.y, p.x, p.channel)] = narrow<T>(epilogue.apply(sum, p.channel));
  }
}

template <class T>
__global__ void input_gradient_kernel(const T* gradient, ImageStrides gradient_at, const T* filter, T* out,
                                      ImageStrides out_at, DepthwisePlan plan, int64_t total) {
  const ConvShape& s = plan.s;
  const int64_t multiplier = plan.multiplier.divisor;
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < total; i += thread_count()) {
    const Pixel p(i, plan);
    const T* tap = filter;
    Wide<T> sum = 0;
    for (int64_t ky = 0; ky < s.window_h; ++ky) {
      int64_t oy = p.y + s.pad_top - ky * s.dilation_h;
      const bool row = oy >= 0 && plan.stride_h.split(oy) == 0 && oy < s.out_h;
      for (int64_t kx = 0; kx < s.window_w; ++kx, tap += s.out_c) {
        int64_t ox = p.x + s.pad_left - kx * s.dilation_w;
        if (!row || ox < 0 || plan.stride_w.split(ox) != 0 || ox >= s.out_w) continue;
        for (int64_t k = p.channel * multiplier; k < (p.channel + 1) * multiplier; ++k)
          sum += widen(gradient[gradient_at.offset(p.n, oy, ox, k)]) * widen(tap[k]);
      }
    }
    out[out_at.offset(p.n, p.y, p.x, p.channel)] = narrow<T>(sum);
  }
}

/// How the filter's gradient is cut, from the sizes alone: a block takes some channels of a tap, as many as lie side by
/// side, over a piece of the pixels.
struct FilterCut {
  int64_t lanes = 1, groups = 0, pieces = 1, piece = 0;

  FilterCut() = default;
  FilterCut(const ConvShape& s, bool channels_last) : lanes(channels_last ? 32 : 1) {
    constexpr int64_t kPixelsOfThread = 64, kManyBlocks = 4096;
    groups = (s.out_c + lanes - 1) / lanes;
    const int64_t blocks = std::max<int64_t>(1, s.taps() * groups);
    pieces = std::clamp<int64_t>(s.pixels() / (kPixelsOfThread * kThreads / lanes), 1,
                                 std::max<int64_t>(1, kManyBlocks / blocks));
    piece = (s.pixels() + pieces - 1) / pieces;
  }
};

/// partial[piece, tap, channel].
template <class T>
__global__ void filter_gradient_kernel(const T* in, ImageStrides in_at, const T* gradient, ImageStrides gradient_at,
                                       Wide<T>* partial, DepthwisePlan plan, FilterCut cut) {
  using W = Wide<T>;
  EMPLACE_BLOCK_SHARED(W, slots, [kThreads]);
  const ConvShape& s = plan.s;
  const auto lanes = static_cast<unsigned>(cut.lanes);
  const int64_t tap = blockIdx.x / cut.groups, channel = blockIdx.x % cut.groups * lanes + threadIdx.x % lanes,
                from = plan.multiplier.divide(channel);
  const int64_t down = tap / s.window_w * s.dilation_h - s.pad_top,
                right = tap % s.window_w * s.dilation_w - s.pad_left;
  const int64_t begin = blockIdx.y * cut.piece, end = begin + cut.piece < s.pixels() ? begin + cut.piece : s.pixels();
  W sum = 0;
  if (channel < s.out_c) {
    EMPLACE_UNROLL_4 for (int64_t i = begin + threadIdx.x / lanes; i < end; i += kThreads / lanes) {
      int64_t n = i;
      const int64_t ox = plan.width.split(n), oy = plan.height.split(n);
      const int64_t y = oy * s.stride_h + down, x = ox * s.stride_w + right;
      if (x < 0 || y < 0 || x >= s.in_w || y >= s.in_h) continue;
      sum += widen(in[in_at.offset(n, y, x, from)]) * widen(gradient[gradient_at.offset(n, oy, ox, channel)]);
    }
  }
  slots[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned width = kThreads / 2; width >= lanes; width /= 2) {
    if (threadIdx.x < width) slots[threadIdx.x] += slots[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x < lanes && channel < s.out_c)
    partial[(blockIdx.y * s.taps() + tap) * s.out_c + channel] = slots[threadIdx.x];
}

/// The pieces in their order.
template <class T>
__global__ void finish_filter_kernel(const Wide<T>* partial, T* filter, int64_t pieces, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    Wide<T> sum = 0;
    for (int64_t p = 0; p < pieces; ++p) sum += partial[p * n + i];
    filter[i] = narrow<T>(sum);
  }
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
                  ImageStrides(c.output(0).shape(), layout_),
                  DepthwisePlan(shape_, shape_.out_h, shape_.out_w, shape_.out_c), epilogue, n);
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
    cut_ = FilterCut(shape_, layout_.c == 3);
    partial_bytes_ = cut_.pieces * c.output(0).num_elements() * static_cast<int64_t>(sizeof(Wide<T>));
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
                    gradient, c.in<T>(1), c.out<T>(0), ImageStrides(c.output(0).shape(), layout_),
                    DepthwisePlan(shape_, shape_.in_h, shape_.in_w, shape_.in_c), n);
    }
    ASSIGN_OR_RETURN(const Tensor held, c.allocate_scratch(DType::kUInt8, Shape{partial_bytes_}));
    auto* const partial = static_cast<Wide<T>*>(held.raw());
    const dim3 grid(static_cast<unsigned>(shape_.taps() * cut_.groups), static_cast<unsigned>(cut_.pieces));
    RETURN_IF_ERROR(launch(Barriers::kBlock, filter_gradient_kernel<T>, grid, kThreads, 0, stream_of(c), c.in<T>(0),
                           ImageStrides(c.input(0).shape(), layout_), c.in<T>(2), gradient, partial,
                           DepthwisePlan(shape_, shape_.out_h, shape_.out_w, shape_.out_c), cut_));
    return launch(Barriers::kNone, finish_filter_kernel<T>, grid_for(n), kThreads, 0, stream_of(c),
                  static_cast<const Wide<T>*>(partial), c.out<T>(0), cut_.pieces, n);
  }
  Workspace workspace() const override { return {of_input_ ? 0 : scratch_bytes(partial_bytes_)}; }

 private:
  Attrs attrs_;
  ImageLayout layout_;
  bool of_input_;
  ConvShape shape_;
  FilterCut cut_;
  int64_t partial_bytes_ = 0;
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
