// Conv2D, its gradients and _FusedConv2D: by cuDNN, or where that is missing or has nothing for the sizes as products
// in which an image is read as a matrix (cuda/gemm.h); the batch of the product is the groups.
#include "core/base/cat.h"
#include "core/ops/conv/conv_shape.h"
#include "cuda/epilogue.h"
#include "cuda/gemm.h"
#include "cuda/image.h"
#include "cuda/library_conv.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// Row: a pixel of the output; column: a tap and a channel of the group's input.
template <class T>
struct LoadWindow {
  const T* data;
  ImageStrides at;
  ConvShape s;
  __device__ Wide<T> operator()(int64_t group, int64_t pixel, int64_t k) const {
    const int64_t channel = k % s.filter_c, tap = k / s.filter_c;
    const int64_t x = pixel % s.out_w * s.stride_w - s.pad_left + tap % s.window_w * s.dilation_w;
    const int64_t y = pixel / s.out_w % s.out_h * s.stride_h - s.pad_top + tap / s.window_w * s.dilation_h;
    if (x < 0 || y < 0 || x >= s.in_w || y >= s.in_h) return Wide<T>(0);
    return widen(data[at.offset(pixel / s.out_w / s.out_h, y, x, group * s.filter_c + channel)]);
  }
};
/// The same with rows and columns exchanged.
template <class T>
struct LoadWindowTransposed {
  LoadWindow<T> window;
  __device__ Wide<T> operator()(int64_t group, int64_t k, int64_t pixel) const { return window(group, pixel, k); }
};

/// The gradient of the output; row: its pixel, column: its channel in the group.
template <class T>
struct LoadGradient {
  const T* data;
  ImageStrides at;
  ConvShape s;
  __device__ Wide<T> operator()(int64_t group, int64_t pixel, int64_t channel) const {
    return widen(data[at.offset(pixel / s.out_w / s.out_h, pixel / s.out_w % s.out_h, pixel % s.out_w,
                                group * (s.out_c / s.groups()) + channel)]);
  }
};

/// Row: a pixel of the input; column: a tap and a channel of the group's output. Taps that no output pixel reads give
/// 0.
template <class T>
struct LoadReadBy {
  const T* data;
  ImageStrides at;
  ConvShape s;
  __device__ Wide<T> operator()(int64_t group, int64_t pixel, int64_t k) const {
    const int64_t channels = s.out_c / s.groups(), channel = k % channels, tap = k / channels;
    const int64_t x = pixel % s.in_w + s.pad_left - tap % s.window_w * s.dilation_w;
    const int64_t y = pixel / s.in_w % s.in_h + s.pad_top - tap / s.window_w * s.dilation_h;
    if (x < 0 || y < 0 || x % s.stride_w != 0 || y % s.stride_h != 0) return Wide<T>(0);
    if (x / s.stride_w >= s.out_w || y / s.stride_h >= s.out_h) return Wide<T>(0);
    return widen(data[at.offset(pixel / s.in_w / s.in_h, y / s.stride_h, x / s.stride_w, group * channels + channel)]);
  }
};

/// Row: a tap and a channel of the group's input; column: a channel of the group's output.
template <class T>
struct LoadFilter {
  const T* data;
  ConvShape s;
  __device__ Wide<T> operator()(int64_t group, int64_t k, int64_t channel) const {
    return widen(data[k * s.out_c + group * (s.out_c / s.groups()) + channel]);
  }
};
/// Row: a tap and a channel of the group's output; column: a channel of the group's input.
template <class T>
struct LoadFilterForInput {
  const T* data;
  ConvShape s;
  __device__ Wide<T> operator()(int64_t group, int64_t k, int64_t in_channel) const {
    const int64_t channels = s.out_c / s.groups();
    return widen(data[(k / channels * s.filter_c + in_channel) * s.out_c + group * channels + k % channels]);
  }
};

/// Pixels of an image and channels of a group.
template <class T>
struct StorePixels {
  T* data;
  ImageStrides at;
  int64_t height, width, channels;  // channels of a group
  ChannelEpilogue<T> epilogue;
  __device__ void operator()(int64_t group, int64_t pixel, int64_t channel, Wide<T> value) const {
    const int64_t k = group * channels + channel;
    data[at.offset(pixel / width / height, pixel / width % height, pixel % width, k)] =
        narrow<T>(epilogue.apply(value, k));
  }
};

template <class W>
struct StorePartial {
  W* data;
  int64_t rows, columns;
  __device__ void operator()(int64_t batch, int64_t row, int64_t column, W value) const {
    data[(batch * rows + row) * columns + column] = value;
  }
};

/// The pieces of the filter's gradient, added in their order.
template <class T>
__global__ void add_pieces_kernel(const Wide<T>* partial, T* filter, int64_t pieces, int64_t rows, int64_t out_c,
                                  int64_t group_c) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < rows * out_c; i += thread_count()) {
    const int64_t channel = i % out_c, group = channel / group_c, at = (i / out_c) * group_c + channel % group_c;
    Wide<T> sum = 0;
    for (int64_t p = 0; p < pieces; ++p) sum += partial[(group * pieces + p) * rows * group_c + at];
    filter[i] = narrow<T>(sum);
  }
}

template <class T>
class Conv2D final : public Kernel {
 public:
  explicit Conv2D(const KernelInit& init)
      : attrs_(init.attrs), layout_(image_layout(init.attrs)), library_(init, ConvPass::kForward), fused_(FusedOps{}) {
    if (init.op != "_FusedConv2D") return;
    fused_args_ = true;
    fused_ = FusedOps::from(init.attrs);
    if (fused_.ok()) args_ = fused_->check_num_args(init.attrs);
  }
  Status prepare(KernelContext& c) override {
    RETURN_IF_ERROR(fused_.status());
    RETURN_IF_ERROR(args_);
    ASSIGN_OR_RETURN(shape_, conv_shape(attrs_, c.input(0).shape(), c.input(1).shape(), false));
    return library_.choose(shape_, layout_);
  }
  Workspace workspace() const override { return library_.workspace(); }
  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    const ConvShape& s = shape_;
    const int64_t channels = s.out_c / s.groups();
    ASSIGN_OR_RETURN(auto epilogue, ChannelEpilogue<T>::of(c, *fused_, 2, s.out_c));
    ASSIGN_OR_RETURN(const bool done, library_.run(c, c.in<T>(0), c.in<T>(1), c.out<T>(0)));
    if (done) return finish(c, epilogue);
    const StorePixels<T> store{c.out<T>(0), ImageStrides(c.output(0).shape(), layout_), s.out_h, s.out_w, channels,
                               epilogue};
    const LoadWindow<T> image{c.in<T>(0), ImageStrides(c.input(0).shape(), layout_), s};
    return gemm<Wide<T>>(stream_of(c), {s.groups(), s.pixels(), channels, s.taps() * s.filter_c}, image,
                         LoadFilter<T>{c.in<T>(1), s}, store);
  }

 private:
  Status finish(KernelContext& c, const ChannelEpilogue<T>& epilogue) {
    if (!fused_args_) return ok_status();
    const int64_t n = c.output(0).num_elements(), inner = layout_.c == 3 ? 1 : shape_.out_h * shape_.out_w;
    return enqueue_epilogue(stream_of(c), c.out<T>(0), epilogue, inner, shape_.out_c, n);
  }

  Attrs attrs_;
  ImageLayout layout_;
  LibraryConv<T> library_;
  bool fused_args_ = false;
  Result<FusedOps> fused_;
  Status args_;
  ConvShape shape_;
};

template <class T>
class InputGradient final : public Kernel {
 public:
  explicit InputGradient(const KernelInit& init)
      : attrs_(init.attrs), layout_(image_layout(init.attrs)), library_(init, ConvPass::kInputGradient) {}
  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(shape_, conv_shape(attrs_, c.output(0).shape(), c.input(1).shape(), false));
    RETURN_IF_ERROR(check_gradient(shape_, c.input(2).shape(), layout_, "Conv2DCustomBackpropInput"));
    return library_.choose(shape_, layout_);
  }
  Workspace workspace() const override { return library_.workspace(); }
  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    ASSIGN_OR_RETURN(const bool done, library_.run(c, c.out<T>(0), c.in<T>(1), c.in<T>(2)));
    if (done) return ok_status();
    const ConvShape& s = shape_;
    const StorePixels<T> store{c.out<T>(0), ImageStrides(c.output(0).shape(), layout_), s.in_h, s.in_w, s.filter_c, {}};
    const LoadReadBy<T> gradient{c.in<T>(2), ImageStrides(c.input(2).shape(), layout_), s};
    return gemm<Wide<T>>(stream_of(c),
                         {s.groups(), s.batch * s.in_h * s.in_w, s.filter_c, s.taps() * (s.out_c / s.groups())},
                         gradient, LoadFilterForInput<T>{c.in<T>(1), s}, store);
  }

 private:
  Attrs attrs_;
  ImageLayout layout_;
  LibraryConv<T> library_;
  ConvShape shape_;
};

/// The sum over pixels is cut into pieces that follow from the sizes alone.
template <class T>
class FilterGradient final : public Kernel {
 public:
  explicit FilterGradient(const KernelInit& init)
      : attrs_(init.attrs), layout_(image_layout(init.attrs)), library_(init, ConvPass::kFilterGradient) {}
  Status prepare(KernelContext& c) override {
    if (c.input(0).shape().rank() != 4)
      return invalid_argument("Conv2DCustomBackpropFilter: input must be 4-dimensional");
    ASSIGN_OR_RETURN(shape_, conv_shape(attrs_, c.input(0).shape(), c.output(0).shape(), false));
    RETURN_IF_ERROR(check_gradient(shape_, c.input(2).shape(), layout_, "Conv2DCustomBackpropFilter"));
    return library_.choose(shape_, layout_);
  }
  Workspace workspace() const override {
    return library_.workspace(scratch_bytes(partial_elements() * static_cast<int64_t>(sizeof(Wide<T>))));
  }
  Status run(KernelContext& c) override {
    using W = Wide<T>;
    if (c.output(0).num_elements() == 0) return ok_status();
    ASSIGN_OR_RETURN(const bool done, library_.run(c, c.in<T>(0), c.out<T>(0), c.in<T>(2)));
    if (done) return ok_status();
    const ConvShape& s = shape_;
    const int64_t rows = s.taps() * s.filter_c, channels = s.out_c / s.groups(), pieces = num_pieces();
    ASSIGN_OR_RETURN(Tensor partial, c.allocate_scratch(dtype_of<W>, Shape{partial_elements()}));
    const LoadWindowTransposed<T> image{{c.in<T>(0), ImageStrides(c.input(0).shape(), layout_), s}};
    const LoadGradient<T> gradient{c.in<T>(2), ImageStrides(c.input(2).shape(), layout_), s};
    RETURN_IF_ERROR(gemm<W>(stream_of(c), {s.groups(), rows, channels, s.pixels(), pieces}, image, gradient,
                            StorePartial<W>{partial.data<W>(), rows, channels}));
    return launch(Barriers::kNone, add_pieces_kernel<T>, grid_for(rows * s.out_c), kThreads, 0, stream_of(c),
                  partial.data<W>(), c.out<T>(0), pieces, rows, s.out_c, channels);
  }

 private:
  int64_t num_pieces() const {
    constexpr int64_t kPiece = 2048, kMaxPieces = 128;
    return std::clamp<int64_t>(shape_.pixels() / kPiece, 1, kMaxPieces);
  }
  int64_t partial_elements() const { return num_pieces() * shape_.taps() * shape_.filter_c * shape_.out_c; }

  Attrs attrs_;
  ImageLayout layout_;
  LibraryConv<T> library_;
  ConvShape shape_;
};

}  // namespace

void add_conv(KernelTable& table) {
  constexpr DTypeSet kInt32{DType::kInt32};
  table.add_giving_way("Conv2D", kFloating | kInt32, by_input<0, Conv2D, float, double, half, bfloat16, int32_t>);
  table.add_giving_way("_FusedConv2D", kFloating, by_input<0, Conv2D, float, double, half, bfloat16>);
  table.add_giving_way("Conv2DBackpropInput", kFloating | kInt32,
                       by_output<InputGradient, float, double, half, bfloat16, int32_t>);
  table.add_giving_way("Conv2DBackpropFilter", kFloating, by_output<FilterGradient, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
