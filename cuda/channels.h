/// Where the channels of a tensor [outer, channels, inner] lie, for kernels.
#pragma once

#include "cuda/broadcast.h"

namespace emplace::cuda {

struct Channels {
  int64_t count = 0, channels = 0, inner = 1;  // elements of a channel; ...
  IndexDivisor by_inner, by_channels;

  Channels() = default;
  Channels(int64_t of_channel, int64_t number, int64_t side_by_side)
      : count(of_channel),
        channels(number),
        inner(side_by_side),
        by_inner(inner, count * channels),
        by_channels(channels, count * channels) {}
  /// Element i of a channel.
  __device__ __forceinline__ int64_t place(int64_t channel, int64_t i) const {
    const int64_t outer = by_inner.divide(i);
    return (outer * channels + channel) * inner + i - outer * inner;
  }
};

/// Where element i of the tensor is: its channel, and how far it is in that channel's row.
struct ChannelWalk {
  int64_t channel, within;

  __device__ __forceinline__ ChannelWalk(const Channels& c, int64_t i) {
    within = c.by_inner.split(i);
    channel = c.by_channels.split(i);
  }
  __device__ __forceinline__ void next(const Channels& c) {
    if (++within < c.inner) return;
    within = 0;
    channel = channel + 1 < c.channels ? channel + 1 : 0;
  }
};

}  // namespace emplace::cuda
