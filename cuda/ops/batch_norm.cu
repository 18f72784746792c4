// FusedBatchNorm and its gradient, all versions. Sums over channels in two stages: pieces of a channel beside each
// other, then these; then packs of elements.
#include <algorithm>

#include "core/base/cat.h"
#include "core/ops/nn/batch_norm.h"
#include "cuda/channels.h"
#include "cuda/dims.h"
#include "cuda/element_code.h"
#include "cuda/float_pair.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

Channels channels_of(const NormLayout& l) { return {l.count(), l.channels, l.inner}; }

/// How the sums are cut, from the sizes alone. Channels that lie side by side are summed in columns of a block.
struct NormCut {
  static constexpr int64_t kAtOnce = 32, kRowsAtOnce = kThreads / kAtOnce;
  bool columns = true;
  int64_t blocks = 0, pieces = 1, piece = 0;

  NormCut() = default;
  explicit NormCut(const Channels& c) : columns(c.inner == 1) {
    constexpr int64_t kElementsOfThread = 64, kManyBlocks = 4096;
    blocks = columns ? (c.channels + kAtOnce - 1) / kAtOnce : c.channels;
    const int64_t full = kElementsOfThread * (columns ? kRowsAtOnce : int64_t{kThreads});
    pieces = std::clamp<int64_t>(c.count / full, 1, std::max<int64_t>(1, kManyBlocks / std::max<int64_t>(blocks, 1)));
    piece = (c.count + pieces - 1) / pieces;
  }
  int64_t partial_bytes(const Channels& c) const {
    return scratch_bytes(c.channels * pieces * 2 * static_cast<int64_t>(sizeof(double)));
  }
  dim3 grid() const { return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(pieces)); }
};

__device__ __forceinline__ double plus(double a, double b) { return a + b; }

/// Of x about its channel's first element, so that little cancels: sum and sum of squares.
template <class T>
struct AboutPilot {
  const T* x;
  __device__ __forceinline__ float centre(const Channels& c, int64_t channel) const {
    return widen(x[c.place(channel, 0)]);
  }
  __device__ __forceinline__ void add(int64_t at, float pilot, FloatPair& sum, FloatPair& squares) const {
    const float d = widen(x[at]) - pilot;
    sum.add(d);
    squares.add(d * d);
  }
};
/// Of the gradient: its sum, and that of its products with x - mean.
template <class T>
struct WithGradient {
  const T *dy, *x;
  const float* mean;
  __device__ __forceinline__ float centre(const Channels&, int64_t channel) const { return mean[channel]; }
  __device__ __forceinline__ void add(int64_t at, float middle, FloatPair& sum, FloatPair& products) const {
    const float d = widen(dy[at]);
    sum.add(d);
    products.add(d * (widen(x[at]) - middle));
  }
};

/// Block (b, p): piece p of channel b, or of kAtOnce channels. Two sums of each go to `partial`.
template <class Terms>
__global__ void moments_kernel(Terms terms, Channels c, NormCut cut, double* partial) {
  EMPLACE_BLOCK_SHARED(double, firsts, [kThreads]);
  EMPLACE_BLOCK_SHARED(double, seconds, [kThreads]);
  constexpr int64_t kAtOnce = NormCut::kAtOnce;
  const int64_t channel = cut.columns ? blockIdx.x * kAtOnce + threadIdx.x % kAtOnce : int64_t{blockIdx.x};
  const int64_t begin = blockIdx.y * cut.piece, end = begin + cut.piece < c.count ? begin + cut.piece : c.count;
  const int64_t from = cut.columns ? threadIdx.x / kAtOnce : threadIdx.x,
                step = cut.columns ? NormCut::kRowsAtOnce : kThreads;
  FloatPair first, second;
  if (channel < c.channels && begin < end) {
    const float centre = terms.centre(c, channel);
    EMPLACE_UNROLL_4 for (int64_t i = begin + from; i < end; i += step) {
      terms.add(cut.columns ? i * c.channels + channel : c.place(channel, i), centre, first, second);
    }
  }
  firsts[threadIdx.x] = first.value();
  seconds[threadIdx.x] = second.value();
  __syncthreads();
  const unsigned least = cut.columns ? static_cast<unsigned>(kAtOnce) : 1;
  for (unsigned width = kThreads / 2; width >= least; width /= 2) {
    if (threadIdx.x < width) {
      firsts[threadIdx.x] += firsts[threadIdx.x + width];
      seconds[threadIdx.x] += seconds[threadIdx.x + width];
    }
    __syncthreads();
  }
  if (threadIdx.x >= least || channel >= c.channels) return;
  double* const to = partial + (channel * gridDim.y + blockIdx.y) * 2;
  to[0] = firsts[threadIdx.x];
  to[1] = seconds[threadIdx.x];
}

/// All pieces of channel blockIdx.x: what every thread of the block gets.
__device__ __forceinline__ void add_pieces(const double* partial, int64_t pieces, double* slots, double& first,
                                           double& second) {
  const double* const from = partial + blockIdx.x * pieces * 2;
  double sum = 0, other = 0;
  for (int64_t p = threadIdx.x; p < pieces; p += kThreads) {
    sum += from[2 * p];
    other += from[2 * p + 1];
  }
  first = combine_block(sum, slots, plus);
  second = combine_block(other, slots, plus);
}

struct Outputs {
  const float *old_mean, *old_variance;  // null unless they are mixed in
  float *mean, *variance, *saved_mean, *saved_variance;
  float factor;
};

/// What an element becomes: (x - mean) slope + offset.
struct Line {
  float mean, slope, offset;
};

template <class T>
__global__ void statistics_kernel(const double* partial, int64_t pieces, const T* x, const float* scale,
                                  const float* offset, float epsilon, Channels c, Outputs out, Line* lines) {
  EMPLACE_BLOCK_SHARED(double, slots, [kThreads]);
  const int64_t k = blockIdx.x;
  const auto n = static_cast<double>(c.count);
  double sum = 0, squares = 0;
  add_pieces(partial, pieces, slots, sum, squares);
  if (threadIdx.x != 0) return;
  const double mean = static_cast<double>(widen(x[c.place(k, 0)])) + sum / n, spread = (squares - sum * (sum / n)) / n,
               variance = spread < 0 ? 0 : spread;
  const float fresh = static_cast<float>(mean), unbiased = static_cast<float>(variance * n / (n > 1 ? n - 1 : 1));
  out.saved_mean[k] = fresh;
  out.saved_variance[k] = static_cast<float>(variance);
  out.mean[k] = out.old_mean ? (1 - out.factor) * out.old_mean[k] + out.factor * fresh : fresh;
  out.variance[k] = out.old_variance ? (1 - out.factor) * out.old_variance[k] + out.factor * unbiased : unbiased;
  lines[k] = {fresh, scale[k] / std::sqrt(static_cast<float>(variance) + epsilon), offset[k]};
}

__global__ void empty_statistics_kernel(Outputs out, int64_t channels) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EMPLACE_ROLLED for (int64_t k = thread_index(); k < channels; k += thread_count()) {
    out.mean[k] = out.variance[k] = nan;
    out.saved_mean[k] = out.saved_variance[k] = 0;
  }
}

__global__ void lines_kernel(const float* mean, const float* variance, const float* scale, const float* offset,
                             float epsilon, int64_t channels, Line* lines) {
  EMPLACE_ROLLED for (int64_t k = thread_index(); k < channels; k += thread_count())
      lines[k] = {mean[k], scale[k] / std::sqrt(variance[k] + epsilon), offset[k]};
}

/// A thread makes one pack.
template <class T>
__global__ void normalise_kernel(const T* x, const Line* lines, T* y, Channels c, int64_t n) {
  constexpr int N = kPackSize<T>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  ChannelWalk at(c, first);
  Pack<T, N> pack = load_pack<T, N>(x, n, first);
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) {
    const Line line = lines[at.channel];
    pack.at[j] = narrow<T>(static_cast<Wide<T>>((widen(pack.at[j]) - line.mean) * line.slope + line.offset));
    at.next(c);
  }
  store_pack(y, n, first, pack);
}

template <class T>
class BatchNorm final : public Kernel {
 public:
  explicit BatchNorm(const KernelInit& init)
      : format_(NormFormat::of(init.attrs)),
        training_(init.attrs.flag("is_training")),
        epsilon_(init.attrs.number("epsilon")),
        factor_(init.attrs.number("exponential_avg_factor")) {}

  Status prepare(KernelContext& c) override {
    if (c.input(0).shape().rank() != format_.rank) return ok_status();  // run() refuses it
    channels_ = channels_of(format_.layout(c.input(0)));
    cut_ = NormCut(channels_);
    return ok_status();
  }
  Workspace workspace() const override { return {cut_.partial_bytes(channels_) + scratch_bytes(lines_bytes())}; }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.shape().rank() != format_.rank)
      return invalid_argument("input must be 4 or 5-dimensional" + x.shape().to_string());
    const NormLayout l = format_.layout(x);
    RETURN_IF_ERROR(check_channel_vectors(c, l.channels, 1, training_ && factor_ == 1.0f ? 3 : 5));
    RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
    for (int i = 1; i <= 4; ++i) RETURN_IF_ERROR(ensure_output(c, i, Shape{l.channels}));
    if (c.num_outputs() > 5) {
      RETURN_IF_ERROR(ensure_output(c, 5, Shape{}));
      CUDA_TRY(cudaMemsetAsync(c.output(5).raw(), 0, sizeof(float), stream_of(c)));
    }
    ASSIGN_OR_RETURN(const Tensor held, c.allocate_scratch(DType::kUInt8, Shape{lines_bytes()}));
    auto* const lines = static_cast<Line*>(held.raw());
    RETURN_IF_ERROR(training_ || l.count() == 0 ? train(c, lines) : hand_on(c, l));
    const int64_t n = x.num_elements();
    if (n == 0) return ok_status();
    if (!training_) {
      RETURN_IF_ERROR(launch(Barriers::kNone, lines_kernel, grid_for(l.channels), kThreads, 0, stream_of(c),
                             c.in<float>(3), c.in<float>(4), c.in<float>(1), c.in<float>(2), epsilon_, l.channels,
                             lines));
    }
    return launch(Barriers::kNone, normalise_kernel<T>, grid_for(n, int64_t{kThreads} * kPackSize<T>), kThreads, 0,
                  stream_of(c), c.in<T>(0), static_cast<const Line*>(lines), c.out<T>(0), channels_, n);
  }

 private:
  int64_t lines_bytes() const { return channels_.channels * static_cast<int64_t>(sizeof(Line)); }

  Status train(KernelContext& c, Line* lines) const {
    const bool mixes = factor_ != 1.0f;
    const Outputs out{mixes ? c.in<float>(3) : nullptr,
                      mixes ? c.in<float>(4) : nullptr,
                      c.out<float>(1),
                      c.out<float>(2),
                      c.out<float>(3),
                      c.out<float>(4),
                      factor_};
    const int64_t channels = channels_.channels;
    if (channels_.count == 0)
      return launch(Barriers::kNone, empty_statistics_kernel, grid_for(channels), kThreads, 0, stream_of(c), out,
                    channels);
    ASSIGN_OR_RETURN(const Tensor partial, c.allocate_scratch(DType::kDouble, Shape{channels * cut_.pieces * 2}));
    auto* const sums = static_cast<double*>(partial.raw());
    RETURN_IF_ERROR(launch(Barriers::kBlock, moments_kernel<AboutPilot<T>>, cut_.grid(), kThreads, 0, stream_of(c),
                           AboutPilot<T>{c.in<T>(0)}, channels_, cut_, sums));
    return launch(Barriers::kBlock, statistics_kernel<T>, dim3(static_cast<unsigned>(channels)), kThreads, 0,
                  stream_of(c), static_cast<const double*>(sums), cut_.pieces, c.in<T>(0), c.in<float>(1),
                  c.in<float>(2), epsilon_, channels_, out, lines);
  }
  static Status hand_on(KernelContext& c, const NormLayout& l) {
    for (int i = 1; i <= 4 && l.channels > 0; ++i) {
      CUDA_TRY(cudaMemcpyAsync(c.output(i).raw(), c.input(i % 2 ? 3 : 4).raw(),
                               static_cast<size_t>(l.channels) * sizeof(float), cudaMemcpyDeviceToDevice,
                               stream_of(c)));
    }
    return ok_status();
  }

  NormFormat format_;
  bool training_;
  float epsilon_, factor_;
  Channels channels_;
  NormCut cut_;
};

// With u = (x - mean) / sqrt(variance + epsilon):
//   d_offset = sum(dy), d_scale = sum(dy u)
//   training:  dx = scale / sqrt(variance + epsilon) (dy - mean(dy) - u mean(dy u))
//   inference: dx = scale / sqrt(variance + epsilon) dy
/// What an element becomes: (dy - middle - (x - mean) tilt) slope.
struct Slant {
  float mean, slope, middle, tilt;
};
__global__ void slants_kernel(const double* partial, int64_t pieces, const float* scale, const float* mean,
                              const float* variance, double epsilon, bool training, int64_t count, float* d_scale,
                              float* d_offset, Slant* slants) {
  EMPLACE_BLOCK_SHARED(double, slots, [kThreads]);
  const int64_t k = blockIdx.x;
  double sum = 0, products = 0;
  add_pieces(partial, pieces, slots, sum, products);
  if (threadIdx.x != 0) return;
  const double inverse = 1 / std::sqrt(static_cast<double>(variance[k]) + epsilon);
  d_scale[k] = static_cast<float>(products * inverse);
  d_offset[k] = static_cast<float>(sum);
  const double n = training && count > 0 ? static_cast<double>(count) : std::numeric_limits<double>::infinity();
  slants[k] = {mean[k], static_cast<float>(static_cast<double>(scale[k]) * inverse), static_cast<float>(sum / n),
               static_cast<float>(products * inverse * inverse / n)};
}

template <class T>
__global__ void slant_kernel(const T* dy, const T* x, const Slant* slants, T* dx, Channels c, int64_t n) {
  constexpr int N = kPackSize<T>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  ChannelWalk at(c, first);
  Pack<T, N> pack = load_pack<T, N>(dy, n, first);
  const Pack<T, N> values = load_pack<T, N>(x, n, first);
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) {
    const Slant s = slants[at.channel];
    const float centred = widen(pack.at[j]) - s.middle - (widen(values.at[j]) - s.mean) * s.tilt;
    pack.at[j] = narrow<T>(static_cast<Wide<T>>(s.slope * centred));
    at.next(c);
  }
  store_pack(dx, n, first, pack);
}

template <class T>
class BatchNormGrad final : public Kernel {
 public:
  explicit BatchNormGrad(const KernelInit& init)
      : format_(NormFormat::of(init.attrs)),
        training_(init.attrs.flag("is_training")),
        epsilon_(static_cast<double>(init.attrs.number("epsilon"))) {}
  Status prepare(KernelContext& c) override {
    if (c.input(1).shape().rank() != format_.rank) return ok_status();  // run() refuses it
    channels_ = channels_of(format_.layout(c.input(1)));
    cut_ = NormCut(channels_);
    return ok_status();
  }
  Workspace workspace() const override { return {cut_.partial_bytes(channels_) + scratch_bytes(slants_bytes())}; }
  Status run(KernelContext& c) override {
    const Tensor &dy = c.input(0), &x = c.input(1);
    if (x.shape().rank() != format_.rank || !(dy.shape() == x.shape())) {
      return invalid_argument(cat("x and y_backprop must have same shape, but x has shape ", x.shape().to_string(),
                                  " and y_backprop has shape ", dy.shape().to_string()));
    }
    const NormLayout l = format_.layout(x);
    RETURN_IF_ERROR(check_channel_vectors(c, l.channels, 2, 5));
    RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
    for (int i : {1, 2}) RETURN_IF_ERROR(ensure_output(c, i, Shape{l.channels}));
    for (int i : {3, 4}) RETURN_IF_ERROR(ensure_output(c, i, Shape{0}));
    ASSIGN_OR_RETURN(const Tensor partial, c.allocate_scratch(DType::kDouble, Shape{l.channels * cut_.pieces * 2}));
    ASSIGN_OR_RETURN(const Tensor held, c.allocate_scratch(DType::kUInt8, Shape{slants_bytes()}));
    auto* const sums = static_cast<double*>(partial.raw());
    auto* const slants = static_cast<Slant*>(held.raw());
    RETURN_IF_ERROR(launch(Barriers::kBlock, moments_kernel<WithGradient<T>>, cut_.grid(), kThreads, 0, stream_of(c),
                           WithGradient<T>{c.in<T>(0), c.in<T>(1), c.in<float>(3)}, channels_, cut_, sums));
    RETURN_IF_ERROR(launch(Barriers::kBlock, slants_kernel, dim3(static_cast<unsigned>(l.channels)), kThreads, 0,
                           stream_of(c), static_cast<const double*>(sums), cut_.pieces, c.in<float>(2), c.in<float>(3),
                           c.in<float>(4), epsilon_, training_, channels_.count, c.out<float>(1), c.out<float>(2),
                           slants));
    const int64_t n = x.num_elements();
    return launch(Barriers::kNone, slant_kernel<T>, grid_for(n, int64_t{kThreads} * kPackSize<T>), kThreads, 0,
                  stream_of(c), c.in<T>(0), c.in<T>(1), static_cast<const Slant*>(slants), c.out<T>(0), channels_, n);
  }

 private:
  int64_t slants_bytes() const { return channels_.channels * static_cast<int64_t>(sizeof(Slant)); }

  NormFormat format_;
  bool training_;
  double epsilon_;
  Channels channels_;
  NormCut cut_;
};

}  // namespace

void add_batch_norm(KernelTable& table) {
  constexpr DTypeSet kTypes = kHalves | DTypeSet{DType::kFloat};
  for (auto op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
    table.add(op, kTypes, by_input<0, BatchNorm, float, half, bfloat16>);
  for (auto op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    table.add(op, kTypes, by_input<0, BatchNormGrad, float, half, bfloat16>);
  }
}

}  // namespace emplace::cuda
