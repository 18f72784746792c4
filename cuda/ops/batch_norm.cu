// FusedBatchNorm and its gradient, all versions. A channel's statistics are a block's work, in double and in two
// passes; then a thread makes an element.
#include "core/base/cat.h"
#include "core/ops/nn/batch_norm.h"
#include "cuda/dims.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// Element i of a channel.
__device__ __forceinline__ int64_t place(const NormLayout& l, int64_t channel, int64_t i) {
  return (i / l.inner * l.channels + channel) * l.inner + i % l.inner;
}
__device__ __forceinline__ double plus(double a, double b) { return a + b; }

struct Outputs {
  const float *old_mean, *old_variance;  // null unless they are mixed in
  float *mean, *variance, *saved_mean, *saved_variance;
  float factor;
};

template <class T>
__global__ void statistics_kernel(const T* x, NormLayout l, Outputs out) {
  EMPLACE_BLOCK_SHARED(double, slots, [kThreads]);
  const int64_t k = blockIdx.x, count = l.outer * l.inner;
  const auto n = static_cast<double>(count);
  double sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += static_cast<double>(widen(x[place(l, k, i)]));
  const double mean = combine_block(sum, slots, plus) / n;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const double d = static_cast<double>(widen(x[place(l, k, i)])) - mean;
    squares += d * d;
  }
  const double variance = combine_block(squares, slots, plus) / n;
  if (threadIdx.x != 0) return;
  const float fresh = static_cast<float>(mean), unbiased = static_cast<float>(variance * n / (n > 1 ? n - 1 : 1));
  out.saved_mean[k] = fresh;
  out.saved_variance[k] = static_cast<float>(variance);
  out.mean[k] = out.old_mean ? (1 - out.factor) * out.old_mean[k] + out.factor * fresh : fresh;
  out.variance[k] = out.old_variance ? (1 - out.factor) * out.old_variance[k] + out.factor * unbiased : unbiased;
}

__global__ void empty_statistics_kernel(Outputs out, int64_t channels) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t k = thread_index(); k < channels; k += thread_count()) {
    out.mean[k] = out.variance[k] = nan;
    out.saved_mean[k] = out.saved_variance[k] = 0;
  }
}

template <class T>
__global__ void normalise_kernel(const T* x, const float* scale, const float* offset, const float* mean,
                                 const float* variance, float epsilon, T* y, NormLayout l, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t k = i / l.inner % l.channels;
    const float slope = scale[k] / std::sqrt(variance[k] + epsilon);
    y[i] = narrow<T>(static_cast<Wide<T>>((widen(x[i]) - mean[k]) * slope + offset[k]));
  }
}

template <class T>
class BatchNorm final : public Kernel {
 public:
  explicit BatchNorm(const KernelInit& init)
      : format_(NormFormat::of(init.attrs)),
        training_(init.attrs.flag("is_training")),
        epsilon_(init.attrs.number("epsilon")),
        factor_(init.attrs.number("exponential_avg_factor")) {}

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
    RETURN_IF_ERROR(training_ || l.count() == 0 ? train(c, l) : hand_on(c, l));
    const int64_t n = x.num_elements();
    return launch(Barriers::kNone, normalise_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  c.in<float>(1), c.in<float>(2), training_ ? c.out<float>(3) : c.in<float>(3),
                  training_ ? c.out<float>(4) : c.in<float>(4), epsilon_, c.out<T>(0), l, n);
  }

 private:
  Status train(KernelContext& c, const NormLayout& l) const {
    const bool mixes = factor_ != 1.0f;
    const Outputs out{mixes ? c.in<float>(3) : nullptr,
                      mixes ? c.in<float>(4) : nullptr,
                      c.out<float>(1),
                      c.out<float>(2),
                      c.out<float>(3),
                      c.out<float>(4),
                      factor_};
    if (l.count() == 0)
      return launch(Barriers::kNone, empty_statistics_kernel, grid_for(l.channels), kThreads, 0, stream_of(c), out,
                    l.channels);
    return launch(Barriers::kBlock, statistics_kernel<T>, dim3(static_cast<unsigned>(l.channels)), kThreads, 0,
                  stream_of(c), c.in<T>(0), l, out);
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
};

// With u = (x - mean) / sqrt(variance + epsilon):
//   d_offset = sum(dy), d_scale = sum(dy u)
//   training:  dx = scale / sqrt(variance + epsilon) (dy - mean(dy) - u mean(dy u))
//   inference: dx = scale / sqrt(variance + epsilon) dy
template <class T>
__global__ void gradient_kernel(const T* dy, const T* x, const float* scale, const float* mean, const float* variance,
                                double epsilon, bool training, T* dx, float* d_scale, float* d_offset, NormLayout l) {
  EMPLACE_BLOCK_SHARED(double, slots, [kThreads]);
  const int64_t k = blockIdx.x, count = l.outer * l.inner;
  const double inverse = 1 / std::sqrt(static_cast<double>(variance[k]) + epsilon), centre = mean[k];
  double sum = 0, sum_u = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const double d = static_cast<double>(widen(dy[place(l, k, i)]));
    sum += d;
    sum_u += d * (static_cast<double>(widen(x[place(l, k, i)])) - centre) * inverse;
  }
  sum = combine_block(sum, slots, plus);
  sum_u = combine_block(sum_u, slots, plus);
  if (threadIdx.x == 0) {
    d_scale[k] = static_cast<float>(sum_u);
    d_offset[k] = static_cast<float>(sum);
  }
  const double n = training ? static_cast<double>(count) : 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const int64_t at = place(l, k, i);
    const double d = static_cast<double>(widen(dy[at])), u = (static_cast<double>(widen(x[at])) - centre) * inverse;
    const double centred = n > 0 ? d - sum / n - u * sum_u / n : d;
    dx[at] = narrow<T>(static_cast<float>(static_cast<double>(scale[k]) * inverse * centred));
  }
}

template <class T>
class BatchNormGrad final : public Kernel {
 public:
  explicit BatchNormGrad(const KernelInit& init)
      : format_(NormFormat::of(init.attrs)),
        training_(init.attrs.flag("is_training")),
        epsilon_(static_cast<double>(init.attrs.number("epsilon"))) {}
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
    return launch(Barriers::kBlock, gradient_kernel<T>, dim3(static_cast<unsigned>(l.channels)), kThreads, 0,
                  stream_of(c), c.in<T>(0), c.in<T>(1), c.in<float>(2), c.in<float>(3), c.in<float>(4), epsilon_,
                  training_, c.out<T>(0), c.out<float>(1), c.out<float>(2), l);
  }

 private:
  NormFormat format_;
  bool training_;
  double epsilon_;
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
