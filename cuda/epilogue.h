/// What the fused ops do with every element of their product: core/ops/conv/epilogue.h for kernels.
#pragma once

#include "core/base/cat.h"
#include "core/ops/conv/epilogue.h"
#include "cuda/arithmetic.h"
#include "cuda/channels.h"
#include "cuda/typed.h"

namespace emplace::cuda {

template <class T>
struct ChannelEpilogue {
  using W = Wide<T>;
  const T *bias = nullptr, *scale = nullptr, *offset = nullptr, *mean = nullptr, *variance = nullptr, *alpha = nullptr;
  Activation activation = Activation::kNone;
  float leaky_alpha = 0, epsilon = 0;

  /// Arguments are the inputs from `first` on. InvalidArgument if their sizes do not fit.
  static Result<ChannelEpilogue> of(const KernelContext& c, const FusedOps& ops, int first, int64_t channels) {
    ChannelEpilogue e;
    e.activation = ops.activation;
    e.leaky_alpha = ops.leaky_alpha;
    e.epsilon = ops.epsilon;
    for (int i = first; i < first + ops.num_args(); ++i) {
      if (c.input(i).num_elements() == channels) continue;
      return invalid_argument(cat("argument ", i, " of a fused op must have one element per channel, ", channels,
                                  ", but has shape ", c.input(i).shape().to_string()));
    }
    auto next = [&] { return c.in<T>(first++); };
    if (ops.bias) e.bias = next();
    if (ops.batch_norm) {
      e.scale = next();
      e.offset = next();
      e.mean = next();
      e.variance = next();
    }
    if (ops.activation == Activation::kPrelu) e.alpha = next();
    return e;
  }

  __device__ W apply(W x, int64_t channel) const {
    if constexpr (!std::is_integral_v<T>) {
      if (bias) x += widen(bias[channel]);
      if (scale) {
        const W factor = widen(scale[channel]) / std::sqrt(widen(variance[channel]) + W(epsilon));
        x = x * factor + (widen(offset[channel]) - widen(mean[channel]) * factor);
      }
      switch (activation) {
        case Activation::kNone:
          break;
        case Activation::kRelu:
          return x < W(0) ? W(0) : x;
        case Activation::kRelu6:
          return x < W(0) ? W(0) : x > W(6) ? W(6) : x;
        case Activation::kElu:
          return x < W(0) ? std::exp(x) - W(1) : x;
        case Activation::kLeakyRelu:
          return x > W(0) ? x : x * W(leaky_alpha);
        case Activation::kPrelu:
          return x < W(0) ? x * widen(alpha[channel]) : x;
        case Activation::kSigmoid:
          return W(1) / (W(1) + std::exp(-x));
        case Activation::kTanh:
          return std::tanh(x);
      }
    }
    return x;
  }
};

/// Applied to what is there already. A thread does one pack.
template <class T>
__global__ void epilogue_kernel(T* y, ChannelEpilogue<T> epilogue, Channels channels, int64_t n) {
  constexpr int N = kPackSize<T>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  ChannelWalk at(channels, first);
  Pack<T, N> pack = load_pack<T, N>(y, n, first);
  for (int j = 0; j < N; ++j) {
    pack.at[j] = narrow<T>(epilogue.apply(widen(pack.at[j]), at.channel));
    at.next(channels);
  }
  store_pack(y, n, first, pack);
}

/// `inner`: elements of a channel that lie together.
template <class T>
Status enqueue_epilogue(cudaStream_t stream, T* y, const ChannelEpilogue<T>& epilogue, int64_t inner, int64_t channels,
                        int64_t n) {
  return launch(Barriers::kNone, epilogue_kernel<T>, grid_for_packs<T>(n), kThreads, 0, stream, y, epilogue,
                Channels(channels > 0 ? n / channels : 0, channels, inner), n);
}

}  // namespace emplace::cuda
